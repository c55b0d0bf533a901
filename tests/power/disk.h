// A disk that remembers what was not synced: files and names in memory, with the way back.
//
// Everything that changes a file or a name is kept with what was there before, until a sync covers
// it. A power cut takes changes back, all that are left or a random part of them, and what remains
// is what a machine would find when it starts again. One thread at a time; numbers are bytes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace power {

// What makes a name durable beside the sync of its directory.
enum class NameRule {
  kDirectory,  // Nothing else; POSIX promises no more.
  kOwn,        // The sync of the file itself, as with ext4, XFS and Btrfs.
  kJournal,    // Any sync makes all earlier changes of names durable, as with ext4's journal.
};

// A change of a file's content or size that no sync has covered yet.
struct Change {
  uint64_t sequence;     // Of all changes of the disk, in their order.
  uint64_t offset;       // The bytes from here
  uint64_t length;       // up to this many were written (or cut off, when `is_cut`)
  std::string before;    // and were these before; zeros where it is shorter than `length`.
  uint64_t size_before;  // Of the file.
  bool is_cut;           // The file became shorter: the size and the bytes are one change.
};

// A file or a directory.
struct Node : std::enable_shared_from_this<Node> {
  uint64_t number = 0;  // Never used again.
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  timespec changed{};
  std::string name;             // The last one, for people.
  std::string data;             // Of a file.
  std::vector<Change> changes;  // Of a file, unsynced, in their order.
  bool is_listed = false;       // Whether the disk looks at the file for changes.
  std::map<std::string, std::shared_ptr<Node>, std::less<>> entries;  // Of a directory.
  std::optional<NameRule> rule;  // Of a directory, where it is not the disk's.

  [[nodiscard]] bool IsDirectory() const;
};
using NodePtr = std::shared_ptr<Node>;

// What a power cut leaves of the unsynced.
enum class Loss {
  kEverything,  // Nothing.
  kPrefix,      // All changes up to a random moment.
  kSubset,      // For each sector what it was at a random moment, the newest and oldest more often.
};

struct Cut {
  Loss loss = Loss::kEverything;
  uint64_t sector = 512;  // Bytes that are written whole or not at all.
  uint64_t seed = 0;
};

class Disk {
 public:
  Disk();

  [[nodiscard]] const NodePtr& root() const { return root_; }
  // The number of the last change; a sync that begins now covers all up to it.
  [[nodiscard]] uint64_t sequence() const { return sequence_; }

  // ---- names. The caller has checked that they may be made, and are there, respectively. --------

  NodePtr Create(const NodePtr& parent, std::string_view name, mode_t mode, uid_t owner,
                 gid_t group);
  void Remove(const NodePtr& parent, std::string_view name);
  // Replaces what has the new name.
  void Rename(const NodePtr& parent, std::string_view name, const NodePtr& new_parent,
              std::string_view new_name);

  // ---- content ----------------------------------------------------------------------------------

  void Write(Node& file, uint64_t offset, std::string_view bytes);
  void Resize(Node& file, uint64_t size);

  // ---- syncs and cuts ---------------------------------------------------------------------------

  // For all directories without a rule of their own.
  void set_name_rule(NameRule rule) { rule_ = rule; }
  // Makes durable what happened to a file or directory up to a number of `sequence()`.
  void Sync(Node& node, uint64_t up_to);
  void SyncAll();
  // Takes unsynced changes back. What is left then is durable, and kept for `Return`.
  void CutPower(const Cut& cut);
  // Makes the disk again what the last cut had left.
  void Return();

  // For people: what is not synced, a line for each file and changed name.
  [[nodiscard]] std::string DescribeUnsynced() const;
  // For people: the last changes of names and syncs before the last cut, oldest first.
  [[nodiscard]] std::string DescribeHistory() const;
  // For people: how much the last cut took back.
  [[nodiscard]] const std::string& last_cut() const { return last_cut_; }

 private:
  enum class NameKind { kCreate, kRemove, kRename };

  // A change of names that no sync has covered yet.
  struct NameChange {
    uint64_t sequence;
    NameKind kind;
    NodePtr parent;
    std::string name;
    NodePtr node;
    NodePtr new_parent;  // Of a rename, like the following two.
    std::string new_name;
    NodePtr replaced;  // Null when nothing had the new name.
  };

  [[nodiscard]] NameRule RuleOf(const NameChange& change) const;
  void SyncNames(const Node& node, uint64_t up_to);
  static bool Touches(const NameChange& change, const Node& node, bool as_directory);
  static bool DependsOn(const NameChange& later, const NameChange& earlier);
  void TakeBackNames(uint64_t after);
  static void TakeBack(const NameChange& change);
  // Returns the bytes that were lost.
  static uint64_t TakeBackContent(Node& file, const Cut& cut, uint64_t prefix);
  [[nodiscard]] uint64_t OldestUnsynced() const;
  NodePtr NewNode(mode_t mode, uid_t owner, gid_t group);
  void List(Node& file);
  void Note(std::string_view what, const Node& node);
  // The files with unsynced changes.
  [[nodiscard]] std::vector<NodePtr> Changed() const;
  static NodePtr Copy(const Node& node);

  uint64_t sequence_ = 0;
  uint64_t last_number_ = 0;
  NameRule rule_ = NameRule::kOwn;
  std::vector<NameChange> names_;           // Unsynced, in their order.
  std::vector<std::weak_ptr<Node>> files_;  // All with unsynced changes, and others.
  NodePtr root_;
  NodePtr left_;  // By the last cut; null before it.
  std::deque<std::string> history_;
  std::string last_cut_;
};

}  // namespace power
