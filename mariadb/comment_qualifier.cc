#include "mariadb/comment_qualifier.h"

namespace cairn {

std::optional<std::string> FindInComment(std::string_view comment, std::string_view name) {
  while (!comment.empty()) {
    const size_t end = comment.find(';');
    const std::string_view token = comment.substr(0, end);
    const size_t equals = token.find('=');
    if (equals != std::string_view::npos && token.find('=', equals + 1) == std::string_view::npos &&
        token.substr(0, equals) == name && equals + 1 < token.size()) {
      return std::string(token.substr(equals + 1));
    }
    if (end == std::string_view::npos) break;
    comment.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::string_view> PartitionOf(std::string_view dictionary_name) {
  const size_t mark = dictionary_name.find("#P#");
  if (mark == std::string_view::npos) return std::nullopt;
  return dictionary_name.substr(mark + 3);
}

}  // namespace cairn
