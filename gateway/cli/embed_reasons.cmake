# Writes OUT: the pages of FOLDER (docs/reasons), one for each reason for which a call ends, as the table of
# gateway/cli/reason_pages.h. Who has only the binary has them too. Arrays of bytes compile everywhere, whatever the
# compiler and the target are.
file(GLOB files ${FOLDER}/*.md)
list(SORT files)
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kPage${number}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", text(kPage${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made from docs/reasons by embed_reasons.cmake.
#include \"cli/reason_pages.h\"

namespace lineward::cli {
namespace {

${arrays}
template <size_t N>
std::string_view text(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

}  // namespace

const std::vector<ReasonPage>& reason_pages() {
  static const std::vector<ReasonPage> the = {
${rows}  };
  return the;
}

}  // namespace lineward::cli
")
