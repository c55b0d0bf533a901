#include "disk.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

namespace power {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// A random number that follows from its three arguments.
uint64_t Mix(uint64_t seed, uint64_t number, uint64_t position) {
  uint64_t value = seed * 0x9E3779B97F4A7C15 + number * 0xBF58476D1CE4E5B9 + position;
  for (int round = 0; round < 3; ++round) {
    value ^= value >> 31;
    value *= 0x94D049BB133111EB;
    value ^= value >> 29;
  }
  return value;
}

timespec Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

// Up to which change something got to the disk before the power went, for one sector or one size.
uint64_t ReachedBy(const Node& file, const Cut& cut, uint64_t prefix, uint64_t position) {
  if (cut.loss == Loss::kEverything) return 0;
  if (cut.loss == Loss::kPrefix) return prefix;
  const uint64_t chance = Mix(cut.seed, file.number, position);
  if (chance % 3 == 0) return 0;
  if (chance % 3 == 1) return kNever;
  return file.changes[(chance >> 8) % file.changes.size()].sequence;
}

}  // namespace

bool Node::IsDirectory() const { return S_ISDIR(mode); }

Disk::Disk() : root_(NewNode(S_IFDIR | 0755, 0, 0)) {}

NodePtr Disk::NewNode(mode_t mode, uid_t owner, gid_t group) {
  auto node = std::make_shared<Node>();
  node->number = ++last_number_;
  node->mode = mode;
  node->owner = owner;
  node->group = group;
  node->changed = Now();
  return node;
}

// ---- names --------------------------------------------------------------------------------------

NodePtr Disk::Create(const NodePtr& parent, std::string_view name, mode_t mode, uid_t owner,
                     gid_t group) {
  NodePtr node = NewNode(mode, owner, group);
  parent->entries[std::string(name)] = node;
  node->name = name;
  Note("create", *node);
  names_.push_back(
      {++sequence_, NameKind::kCreate, parent, std::string(name), node, nullptr, {}, nullptr});
  return node;
}

void Disk::Remove(const NodePtr& parent, std::string_view name) {
  const auto found = parent->entries.find(name);
  Note("remove", *found->second);
  names_.push_back({++sequence_,
                    NameKind::kRemove,
                    parent,
                    std::string(name),
                    found->second,
                    nullptr,
                    {},
                    nullptr});
  parent->entries.erase(found);
}

void Disk::Rename(const NodePtr& parent, std::string_view name, const NodePtr& new_parent,
                  std::string_view new_name) {
  const auto old = parent->entries.find(name);
  const NodePtr node = old->second;
  parent->entries.erase(old);
  NodePtr& place = new_parent->entries[std::string(new_name)];
  names_.push_back({++sequence_, NameKind::kRename, parent, std::string(name), node, new_parent,
                    std::string(new_name), place});
  place = node;
  node->name = new_name;
  Note("rename to", *node);
}

// Whether the sync of `node` covers a change: of a name in that directory, or of its own name.
bool Disk::Touches(const NameChange& change, const Node& node, bool as_directory) {
  if (as_directory && (change.parent.get() == &node || change.new_parent.get() == &node)) {
    return true;
  }
  return change.node.get() == &node;
}

// Whether the later change makes no sense on a disk without the earlier one.
bool Disk::DependsOn(const NameChange& later, const NameChange& earlier) {
  const auto same_name = [](const NodePtr& parent, const std::string& name,
                            const NameChange& other) {
    return parent != nullptr && ((parent == other.parent && name == other.name) ||
                                 (parent == other.new_parent && name == other.new_name));
  };
  return later.node == earlier.node || later.parent == earlier.node ||
         later.new_parent == earlier.node ||
         (later.replaced != nullptr && later.replaced == earlier.node) ||
         same_name(later.parent, later.name, earlier) ||
         same_name(later.new_parent, later.new_name, earlier);
}

NameRule Disk::RuleOf(const NameChange& change) const {
  return change.parent->rule.value_or(rule_);
}

void Disk::SyncNames(const Node& node, uint64_t up_to) {
  if (names_.empty()) return;
  std::vector<bool> synced(names_.size());
  std::vector<size_t> chosen;
  for (size_t at = names_.size(); at-- > 0;) {
    const NameChange& change = names_[at];
    if (change.sequence > up_to) continue;
    const NameRule rule = RuleOf(change);
    const bool covered =
        rule == NameRule::kJournal || (node.IsDirectory() && Touches(change, node, true)) ||
        (rule == NameRule::kOwn && Touches(change, node, false)) ||
        std::ranges::any_of(chosen, [&](size_t later) { return DependsOn(names_[later], change); });
    if (!covered) continue;
    synced[at] = true;
    chosen.push_back(at);
  }
  size_t kept = 0;
  for (size_t at = 0; at < names_.size(); ++at) {
    if (synced[at]) continue;
    if (kept != at) names_[kept] = std::move(names_[at]);
    ++kept;
  }
  names_.resize(kept);
}

void Disk::TakeBack(const NameChange& change) {
  switch (change.kind) {
    case NameKind::kCreate:
      change.parent->entries.erase(change.name);
      break;
    case NameKind::kRemove:
      change.parent->entries[change.name] = change.node;
      break;
    case NameKind::kRename:
      if (change.replaced != nullptr) {
        change.new_parent->entries[change.new_name] = change.replaced;
      } else {
        change.new_parent->entries.erase(change.new_name);
      }
      change.parent->entries[change.name] = change.node;
      break;
  }
}

void Disk::TakeBackNames(uint64_t after) {
  for (const NameChange& change : std::views::reverse(names_)) {
    if (change.sequence > after) TakeBack(change);
  }
  names_.clear();
}

// ---- content ------------------------------------------------------------------------------------

void Disk::Write(Node& file, uint64_t offset, std::string_view bytes) {
  const uint64_t size = file.data.size();
  List(file);
  file.changes.push_back({++sequence_, offset, bytes.size(),
                          offset < size ? file.data.substr(offset, bytes.size()) : std::string(),
                          size, false});
  const uint64_t end = offset + bytes.size();
  if (end > size) {
    if (end > file.data.capacity()) file.data.reserve(std::max(end, 2 * size));
    file.data.resize(end);
  }
  std::ranges::copy(bytes, file.data.begin() + static_cast<std::ptrdiff_t>(offset));
  file.changed = Now();
}

void Disk::Resize(Node& file, uint64_t size) {
  const uint64_t old = file.data.size();
  if (size == old) return;
  List(file);
  const bool is_cut = size < old;
  file.changes.push_back({++sequence_, std::min(old, size), is_cut ? old - size : 0,
                          is_cut ? file.data.substr(size) : std::string(), old, is_cut});
  file.data.resize(size);
  file.changed = Now();
}

void Disk::Sync(Node& node, uint64_t up_to) {
  Note("sync", node);
  std::erase_if(node.changes, [&](const Change& change) { return change.sequence <= up_to; });
  SyncNames(node, up_to);
}

void Disk::SyncAll() {
  for (const std::weak_ptr<Node>& each : files_) {
    if (const NodePtr file = each.lock(); file != nullptr) {
      file->changes.clear();
      file->is_listed = false;
    }
  }
  files_.clear();
  names_.clear();
}

// The newest are at the end.
void Disk::Note(std::string_view what, const Node& node) {
  constexpr size_t kMost = 60;
  history_.push_back(std::to_string(sequence_) + " " + std::string(what) + " " + node.name);
  if (history_.size() > kMost) history_.pop_front();
}

std::string Disk::DescribeHistory() const {
  std::string text;
  for (const std::string& line : history_) text += line + "\n";
  return text;
}

void Disk::List(Node& file) {
  if (!file.is_listed) files_.push_back(file.weak_from_this());
  file.is_listed = true;
}

std::vector<NodePtr> Disk::Changed() const {
  std::vector<NodePtr> changed;
  for (const std::weak_ptr<Node>& each : files_) {
    NodePtr file = each.lock();
    if (file != nullptr && !file->changes.empty()) changed.push_back(std::move(file));
  }
  return changed;
}

uint64_t Disk::TakeBackContent(Node& file, const Cut& cut, uint64_t prefix) {
  uint64_t longest = file.data.size();
  for (const Change& change : file.changes) longest = std::max(longest, change.size_before);
  uint64_t size = file.data.size();
  uint64_t lost = 0;
  file.data.resize(longest);
  const uint64_t size_reached = ReachedBy(file, cut, prefix, kNever);
  const auto restore = [&](const Change& change, uint64_t from, uint64_t to) {
    for (uint64_t at = from; at < to; ++at) {
      const uint64_t in_change = at - change.offset;
      file.data[at] = in_change < change.before.size() ? change.before[in_change] : '\0';
    }
    lost += to - from;
  };
  for (const Change& change : std::views::reverse(file.changes)) {
    const bool size_is_lost = change.sequence > size_reached;
    if (size_is_lost) size = change.size_before;
    const uint64_t end = change.offset + change.length;
    if (change.is_cut) {
      if (size_is_lost) restore(change, change.offset, end);
      continue;
    }
    for (uint64_t at = change.offset; at < end;) {
      const uint64_t sector = at / cut.sector;
      const uint64_t to = std::min(end, (sector + 1) * cut.sector);
      if (change.sequence > ReachedBy(file, cut, prefix, sector)) restore(change, at, to);
      at = to;
    }
  }
  file.data.resize(size);
  return lost;
}

uint64_t Disk::OldestUnsynced() const {
  uint64_t oldest = names_.empty() ? sequence_ : names_.front().sequence;
  for (const NodePtr& file : Changed()) oldest = std::min(oldest, file->changes.front().sequence);
  return oldest;
}

void Disk::CutPower(const Cut& cut) {
  const std::vector<NodePtr> files = Changed();
  const uint64_t oldest = std::max<uint64_t>(OldestUnsynced(), 1) - 1;
  const uint64_t moment = oldest + Mix(cut.seed, 0, 0) % (sequence_ - oldest + 1);
  // Names have one order also where sectors have none: file systems write them to a journal.
  const uint64_t names_reached = cut.loss == Loss::kEverything ? 0 : moment;
  uint64_t lost = 0;
  uint64_t changes = 0;
  for (const NodePtr& file : files) {
    changes += file->changes.size();
    lost += TakeBackContent(*file, cut, moment);
  }
  const auto names = static_cast<uint64_t>(std::ranges::count_if(
      names_, [&](const NameChange& change) { return change.sequence > names_reached; }));
  last_cut_ = std::to_string(lost) + " bytes and " + std::to_string(names) + " names lost, of " +
              std::to_string(changes) + " writes and " + std::to_string(names_.size()) +
              " names that were not synced\n" + DescribeUnsynced() +
              "Before it, by the number of the last change:\n" + DescribeHistory();
  history_.clear();
  TakeBackNames(names_reached);
  SyncAll();
  left_ = Copy(*root_);
}

NodePtr Disk::Copy(const Node& node) {
  auto copy = std::make_shared<Node>(node);
  for (auto& [name, entry] : copy->entries) entry = Copy(*entry);
  return copy;
}

void Disk::Return() {
  if (left_ == nullptr) return;
  SyncAll();
  root_->entries = Copy(*left_)->entries;
}

std::string Disk::DescribeUnsynced() const {
  std::string text;
  const std::vector<NodePtr> unsynced = Changed();
  const auto walk = [&](const auto& self, const Node& folder, const std::string& path) -> void {
    for (const auto& [name, node] : folder.entries) {
      if (node->IsDirectory()) {
        self(self, *node, path + name + "/");
      } else if (!node->changes.empty()) {
        uint64_t bytes = 0;
        for (const Change& change : node->changes) bytes += change.length;
        text += "file " + path + name + ": " + std::to_string(bytes) + " bytes in " +
                std::to_string(node->changes.size()) + " changes\n";
      }
    }
  };
  walk(walk, *root_, "");
  for (const NameChange& change : names_) {
    text += change.kind == NameKind::kCreate   ? "create "
            : change.kind == NameKind::kRemove ? "remove "
                                               : "rename ";
    text += change.name + (change.new_name.empty() ? "" : " to " + change.new_name) + "\n";
  }
  return text;
}

}  // namespace power
