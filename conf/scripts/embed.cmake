# cmake -DFOLDER=… -DPATTERNS=*.a;*.b -DHEADER=… -DFUNCTION=… -DOUT=… -P embed.cmake
# Writes OUT, which defines FUNCTION, declared in HEADER: the files of FOLDER as the binary has them (gateway/foundation/base/embedded_file.h).
# Arrays of bytes compile everywhere, whatever the compiler and the target are.
list(TRANSFORM PATTERNS PREPEND ${FOLDER}/)
file(GLOB files ${PATTERNS})
list(SORT files)
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}};\n")
  string(APPEND rows "      {\"${name}\", text(kFile${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made by embed.cmake.
#include \"${HEADER}\"

namespace {

${arrays}
template <size_t N>
std::string_view text(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

}  // namespace

const std::vector<lineward::EmbeddedFile>& ${FUNCTION}() {
  static const std::vector<lineward::EmbeddedFile> the = {
${rows}  };
  return the;
}
")
