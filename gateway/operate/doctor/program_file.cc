#include "operate/doctor/program_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "foundation/log/sanitize.h"

namespace lineward::doctor {
namespace {

constexpr size_t kHeadBytes = 512;

bool is_regular(const std::string& file) {
  struct stat found {};
  return stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

struct ElfMachine {
  uint16_t number;
  const char* name;  // from uname -m
};
constexpr std::array<ElfMachine, 8> kMachines{{{62, "x86_64"},
                                               {183, "aarch64"},
                                               {3, "i686"},
                                               {40, "armv7l"},
                                               {243, "riscv64"},
                                               {21, "ppc64le"},
                                               {22, "s390x"},
                                               {8, "mips"}}};

bool runs_on(const std::string& built_for, const std::string& machine) {
  if (built_for == machine) return true;
  if (machine == "x86_64") return built_for == "i686";
  return machine.rfind("arm", 0) == 0 && built_for == "armv7l";
}

std::string head_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(kHeadBytes, '\0');
  stream.read(bytes.data(), kHeadBytes);
  bytes.resize(static_cast<size_t>(stream.gcount()));
  return bytes;
}

bool check_cwd(const config::Server& server, Findings& findings) {
  if (server.cwd.empty()) return true;
  struct stat found {};
  const std::string shown = sanitize(server.cwd);
  if (stat(server.cwd.c_str(), &found) != 0) {
    findings.error("cwd", fmt::format("its working directory is not there: {}", std::strerror(errno)),
                   "make it, or change cwd", shown);
  } else if (!S_ISDIR(found.st_mode)) {
    findings.error("cwd", "its working directory is a file", "name a directory as cwd", shown);
  } else if (access(server.cwd.c_str(), X_OK) != 0) {
    findings.error("cwd", "its working directory may not be entered", "chmod +x it, or change cwd", shown);
  } else {
    return true;
  }
  return false;
}

void tell_not_found(const config::Server& server, const std::string& path, const std::string& home,
                    Findings& findings) {
  const std::string shown = sanitize(server.command);
  if (server.command.find('/') != std::string::npos) {
    if (is_regular(server.command)) {
      findings.error("command", fmt::format("'{}' is not executable", shown),
                     fmt::format("chmod +x {}", shown));
    } else {
      findings.error("command", fmt::format("'{}' is not there", shown),
                     "install it, or correct the path of command");
    }
    return;
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + server.command;
    if (is_regular(file))
      return findings.error("command", fmt::format("'{}' is not executable", sanitize(file)),
                            fmt::format("chmod +x {}", sanitize(file)));
    begin = end + 1;
  }
  std::string fix = fmt::format("install {}, or write its full path as command", shown);
  for (const std::string& place : usual_places(server.command, home)) {
    if (!is_regular(place) || access(place.c_str(), X_OK) != 0) continue;
    fix = fmt::format("command: {}   (found there)", sanitize(place));
    break;
  }
  findings.error("command", fmt::format("'{}' was not found", shown), fix, "PATH " + sanitize(path, 1000));
}

}  // namespace

std::string variable_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0)
      return entry.substr(name.size() + 1);
  }
  return {};
}

std::string found_in(const std::string& command, const std::string& path) {
  auto runs = [](const std::string& file) { return is_regular(file) && access(file.c_str(), X_OK) == 0; };
  if (command.find('/') != std::string::npos) return runs(command) ? command : std::string();
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    std::string folder = path.substr(begin, end - begin);
    if (folder.empty()) folder = ".";
    const std::string file = folder + "/" + command;
    if (runs(file)) return file;
    begin = end + 1;
  }
  return {};
}

std::vector<std::string> usual_places(const std::string& command, const std::string& home) {
  std::vector<std::string> places;
  for (const char* folder : {"/usr/local/bin/", "/opt/homebrew/bin/", "/snap/bin/", "/usr/bin/", "/bin/"})
    places.push_back(folder + command);
  if (home.empty()) return places;
  for (const char* folder :
       {"/.local/bin/", "/.cargo/bin/", "/.bun/bin/", "/.deno/bin/", "/.volta/bin/", "/bin/"})
    places.push_back(home + folder + command);
  std::error_code error;
  std::vector<std::string> versions;
  for (const auto& entry : std::filesystem::directory_iterator(home + "/.nvm/versions/node", error))
    versions.push_back(entry.path().string() + "/bin/" + command);
  std::sort(versions.rbegin(), versions.rend());
  places.insert(places.end(), versions.begin(), versions.end());
  return places;
}

std::optional<Finding> head_fault(const std::string& bytes, const std::string& file,
                                  const std::string& machine) {
  const std::string shown = sanitize(file);
  auto fault = [](std::string text, std::string fix) {
    return Finding{.status = CheckStatus::error, .text = std::move(text), .fix = std::move(fix)};
  };
  if (bytes.size() >= 20 && bytes.compare(0, 4, "\177ELF") == 0) {
    const auto low = static_cast<unsigned char>(bytes[18]), high = static_cast<unsigned char>(bytes[19]);
    const bool big_endian = bytes[5] == 2;
    const auto number = static_cast<uint16_t>(big_endian ? low << 8 | high : high << 8 | low);
    for (const ElfMachine& known : kMachines) {
      if (known.number != number || runs_on(known.name, machine)) continue;
      return fault(fmt::format("'{}' is built for {}, this machine is {}", shown, known.name, machine),
                   "install the build for this machine");
    }
    return std::nullopt;
  }
  if (bytes.rfind("#!", 0) == 0) {
    const std::string line = bytes.substr(2, bytes.find('\n') - 2);
    if (!line.empty() && line.back() == '\r') {
      return fault(
          fmt::format(
              "the first line of '{}' ends as in Windows (CR LF), so that its interpreter is not found",
              shown),
          fmt::format("sed -i 's/\\r$//' {}", shown));
    }
    const size_t begin = line.find_first_not_of(" \t");
    const std::string interpreter =
        begin == std::string::npos ? "" : line.substr(begin, line.find_first_of(" \t", begin) - begin);
    if (interpreter.empty() || !is_regular(interpreter)) {
      return fault(fmt::format("the interpreter that the first line of '{}' names is not there: {}", shown,
                               sanitize(interpreter)),
                   "install it, or correct the line that begins with #!");
    }
    return std::nullopt;
  }
  if (bytes.compare(0, 2, "MZ") == 0)
    return fault(fmt::format("'{}' is a program for Windows", shown), "install the build for this machine");
  if (bytes.size() >= 4 &&
      (bytes.compare(0, 4, "\xcf\xfa\xed\xfe") == 0 || bytes.compare(0, 4, "\xca\xfe\xba\xbe") == 0))
    return fault(fmt::format("'{}' is a program for macOS", shown), "install the build for this machine");
  return fault(fmt::format("'{}' is neither a program nor a script that begins with #!", shown),
               "write its interpreter as its first line (#!/usr/bin/env node), or as command, and the "
               "file as its first argument");
}

std::string check_program(const config::Server& server, const std::vector<std::string>& environment,
                          Findings& findings) {
  const bool cwd = check_cwd(server, findings);
  const std::string path = variable_of(environment, "PATH");
  std::string command = server.command;
  // A relative path starts from the server's working directory.
  if (command.find('/') != std::string::npos && command[0] != '/' && !server.cwd.empty())
    command = server.cwd + "/" + command;
  const std::string file = found_in(command, path);
  if (file.empty()) {
    config::Server moved = server;
    moved.command = command;
    tell_not_found(moved, path, variable_of(environment, "HOME"), findings);
    return {};
  }
  utsname system{};
  uname(&system);
  const std::string head = head_of(file);
  if (!head.empty()) {  // an executable program may be unreadable
    if (auto fault = head_fault(head, file, system.machine)) {
      findings.error("command", fault->text, fault->fix);
      return {};
    }
  }
  findings.ok("command", sanitize(file));
  return cwd ? file : std::string();
}

}  // namespace lineward::doctor
