// A file system whose power can be cut: mounts a `power::Disk` by FUSE.
//
//     power_fs DIRECTORY
//
// It stays in the foreground until it is unmounted or told to end by a signal; its files, which are
// in memory, end with it. The file `.power` in its root directory, which no listing shows, takes
// commands, each in one write, and tells when it is read what is not synced and what the last cut
// did:
//
//     cut LOSS SECTOR SEED    LOSS: everything, prefix or subset
//     names RULE [DIRECTORY]  RULE: directory, own or journal; of one directory, or of all others
//     delay MICROSECONDS      what every sync takes from now on
//     sync                    everything is durable
//     return                  the disk as the last cut had left it
//
// What was opened before a cut is of no use after it: reads, writes and syncs fail with EIO.
#define FUSE_USE_VERSION 312

#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "disk.h"

namespace {

using power::Cut;
using power::Loss;
using power::NameRule;
using power::NodePtr;

constexpr fuse_ino_t kControl = 2;  // Nodes have theirs from 3, the root has 1.
constexpr const char* kControlName = ".power";

// An open file or directory. The kernel's handle is its address.
struct Handle {
  NodePtr node;
  uint64_t power_cuts;                                   // That were before it was opened.
  std::vector<std::pair<std::string, NodePtr>> listing;  // Of a directory.
  std::string text;                                      // Of the control file.
};

// A sync that waits for its time.
struct Waiting {
  std::chrono::steady_clock::time_point due;
  fuse_req_t request;
  NodePtr node;
  uint64_t up_to;
  uint64_t power_cuts;
};

struct State {
  std::mutex mutex;  // Of all below.
  power::Disk disk;
  uint64_t power_cuts = 0;
  uint64_t syncs = 0;
  std::chrono::microseconds delay{0};
  // What the kernel knows, and how often it has been told.
  std::unordered_map<fuse_ino_t, std::pair<NodePtr, uint64_t>> known;
  std::deque<Waiting> waiting;
  std::condition_variable_any has_waiting;
};

State& TheState() {
  static State state;
  return state;
}

fuse_ino_t NumberOf(const NodePtr& node) {
  return node == TheState().disk.root() ? FUSE_ROOT_ID : node->number + kControl;
}

NodePtr NodeOf(fuse_ino_t number) {
  State& state = TheState();
  if (number == FUSE_ROOT_ID) return state.disk.root();
  const auto found = state.known.find(number);
  return found == state.known.end() ? nullptr : found->second.first;
}

Handle* HandleOf(const fuse_file_info* info) {
  return reinterpret_cast<Handle*>(info->fh);  // NOLINT: that is what FUSE offers.
}

// Whether a handle was opened since the last cut.
bool IsPowered(const Handle& handle) { return handle.power_cuts == TheState().power_cuts; }

struct stat StatusOf(const NodePtr& node) {
  struct stat status {};
  status.st_ino = NumberOf(node);
  status.st_mode = node->mode;
  status.st_nlink = node->IsDirectory() ? 2 : 1;
  status.st_uid = node->owner;
  status.st_gid = node->group;
  status.st_size = static_cast<off_t>(node->data.size());
  status.st_blksize = 4096;
  status.st_blocks = static_cast<blkcnt_t>((node->data.size() + 511) / 512);
  status.st_atim = status.st_mtim = status.st_ctim = node->changed;
  return status;
}

struct stat ControlStatus() {
  struct stat status {};
  status.st_ino = kControl;
  status.st_mode = S_IFREG | 0600;
  status.st_nlink = 1;
  return status;
}

// An entry that the kernel asks for each time: a cut changes what is right.
fuse_entry_param EntryOf(const NodePtr& node) {
  auto& [kept, count] = TheState().known[NumberOf(node)];
  kept = node;
  ++count;
  fuse_entry_param entry{};
  entry.ino = NumberOf(node);
  entry.attr = StatusOf(node);
  return entry;
}

NodePtr Find(const NodePtr& parent, const char* name) {
  if (parent == nullptr) return nullptr;
  const auto found = parent->entries.find(std::string_view(name));
  return found == parent->entries.end() ? nullptr : found->second;
}

// ---- control ------------------------------------------------------------------------------------

bool CutPower(std::istringstream& words) {
  std::string loss;
  Cut cut;
  if (!(words >> loss >> cut.sector >> cut.seed) || cut.sector == 0) return false;
  if (loss == "everything") {
    cut.loss = Loss::kEverything;
  } else if (loss == "prefix") {
    cut.loss = Loss::kPrefix;
  } else if (loss == "subset") {
    cut.loss = Loss::kSubset;
  } else {
    return false;
  }
  State& state = TheState();
  ++state.power_cuts;
  state.disk.CutPower(cut);
  return true;
}

std::optional<NameRule> RuleNamed(const std::string& name) {
  if (name == "directory") return NameRule::kDirectory;
  if (name == "own") return NameRule::kOwn;
  if (name == "journal") return NameRule::kJournal;
  return std::nullopt;
}

bool SetNameRule(std::istringstream& words) {
  std::string name;
  std::string path;
  words >> name >> path;
  const std::optional<NameRule> rule = RuleNamed(name);
  if (!rule) return false;
  power::Disk& disk = TheState().disk;
  if (path.empty()) {
    disk.set_name_rule(*rule);
    return true;
  }
  NodePtr folder = disk.root();
  std::istringstream parts(path);
  for (std::string part; folder != nullptr && std::getline(parts, part, '/');) {
    folder = Find(folder, part.c_str());
  }
  if (folder == nullptr || !folder->IsDirectory()) return false;
  folder->rule = rule;
  return true;
}

// Whether it was a command.
bool Command(const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  State& state = TheState();
  if (command == "cut") return CutPower(words);
  if (command == "names") return SetNameRule(words);
  if (command == "delay") {
    uint64_t delay_us = 0;
    if (!(words >> delay_us)) return false;
    state.delay = std::chrono::microseconds(delay_us);
    return true;
  }
  if (command == "sync") {
    state.disk.SyncAll();
    return true;
  }
  if (command == "return") {
    ++state.power_cuts;
    state.disk.Return();
    return true;
  }
  return false;
}

std::string Report() {
  const State& state = TheState();
  return "syncs " + std::to_string(state.syncs) + "\nlast cut: " + state.disk.last_cut() +
         "unsynced now:\n" + state.disk.DescribeUnsynced();
}

// ---- names --------------------------------------------------------------------------------------

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const std::scoped_lock lock(TheState().mutex);
  if (parent == FUSE_ROOT_ID && std::strcmp(name, kControlName) == 0) {
    fuse_entry_param entry{};
    entry.ino = kControl;
    entry.attr = ControlStatus();
    fuse_reply_entry(request, &entry);
    return;
  }
  const NodePtr node = Find(NodeOf(parent), name);
  if (node == nullptr) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = EntryOf(node);
  fuse_reply_entry(request, &entry);
}

void Forget(fuse_req_t request, fuse_ino_t number, uint64_t count) {
  State& state = TheState();
  const std::scoped_lock lock(state.mutex);
  const auto found = state.known.find(number);
  if (found != state.known.end()) {
    uint64_t& told = found->second.second;
    told -= std::min(told, count);
    if (told == 0) state.known.erase(found);
  }
  fuse_reply_none(request);
}

NodePtr Make(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  const NodePtr folder = NodeOf(parent);
  if (folder == nullptr || Find(folder, name) != nullptr) {
    fuse_reply_err(request, folder == nullptr ? ENOENT : EEXIST);
    return nullptr;
  }
  const fuse_ctx* const context = fuse_req_ctx(request);
  return TheState().disk.Create(folder, name, mode, context->uid, context->gid);
}

void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  const std::scoped_lock lock(TheState().mutex);
  const NodePtr node = Make(request, parent, name, S_IFDIR | mode);
  if (node == nullptr) return;
  const fuse_entry_param entry = EntryOf(node);
  fuse_reply_entry(request, &entry);
}

void CreateFile(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  const NodePtr node = Make(request, parent, name, S_IFREG | (mode & 07777));
  if (node == nullptr) return;
  const fuse_entry_param entry = EntryOf(node);
  info->fh = reinterpret_cast<uint64_t>(new Handle{node, TheState().power_cuts, {}, {}});  // NOLINT
  fuse_reply_create(request, &entry, info);
}

void RemoveName(fuse_req_t request, fuse_ino_t parent, const char* name, bool directory) {
  const std::scoped_lock lock(TheState().mutex);
  const NodePtr folder = NodeOf(parent);
  const NodePtr node = Find(folder, name);
  int error = 0;
  if (node == nullptr) {
    error = ENOENT;
  } else if (node->IsDirectory() != directory) {
    error = directory ? ENOTDIR : EISDIR;
  } else if (!node->entries.empty()) {
    error = ENOTEMPTY;
  } else {
    TheState().disk.Remove(folder, name);
  }
  fuse_reply_err(request, error);
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  RemoveName(request, parent, name, false);
}

void RemoveDirectory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  RemoveName(request, parent, name, true);
}

void Rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned int flags) {
  const std::scoped_lock lock(TheState().mutex);
  const NodePtr folder = NodeOf(parent);
  const NodePtr new_folder = NodeOf(new_parent);
  const NodePtr node = Find(folder, name);
  const NodePtr replaced = Find(new_folder, new_name);
  int error = 0;
  if (node == nullptr || new_folder == nullptr) {
    error = ENOENT;
  } else if ((flags & ~RENAME_NOREPLACE) != 0) {
    error = EINVAL;
  } else if (replaced != nullptr && flags != 0) {
    error = EEXIST;
  } else if (replaced != nullptr && !replaced->entries.empty()) {
    error = ENOTEMPTY;
  } else if (replaced != node) {
    TheState().disk.Rename(folder, name, new_folder, new_name);
  }
  fuse_reply_err(request, error);
}

// ---- attributes ---------------------------------------------------------------------------------

void ReplyStatus(fuse_req_t request, const NodePtr& node) {
  const struct stat status = StatusOf(node);
  fuse_reply_attr(request, &status, 0);
}

void GetStatus(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*info*/) {
  const std::scoped_lock lock(TheState().mutex);
  if (number == kControl) {
    const struct stat status = ControlStatus();
    fuse_reply_attr(request, &status, 0);
  } else if (const NodePtr node = NodeOf(number); node != nullptr) {
    ReplyStatus(request, node);
  } else {
    fuse_reply_err(request, ENOENT);
  }
}

void SetStatus(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
               fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  if (number == kControl) {  // Opening it for writing cuts it to nothing, which it is.
    const struct stat status = ControlStatus();
    fuse_reply_attr(request, &status, 0);
    return;
  }
  const NodePtr node = NodeOf(number);
  if (node == nullptr || (info != nullptr && !IsPowered(*HandleOf(info)))) {
    fuse_reply_err(request, node == nullptr ? ENOENT : EIO);
    return;
  }
  if ((which & FUSE_SET_ATTR_MODE) != 0) {
    node->mode = (node->mode & S_IFMT) | (wanted->st_mode & 07777);
  }
  if ((which & FUSE_SET_ATTR_UID) != 0) node->owner = wanted->st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) node->group = wanted->st_gid;
  if ((which & FUSE_SET_ATTR_MTIME) != 0) node->changed = wanted->st_mtim;
  if ((which & FUSE_SET_ATTR_SIZE) != 0) {
    TheState().disk.Resize(*node, static_cast<uint64_t>(wanted->st_size));
  }
  ReplyStatus(request, node);
}

void GetSpace(fuse_req_t request, fuse_ino_t /*number*/) {
  constexpr fsblkcnt_t kBlocks = 16UL << 20;
  struct statvfs space {};
  space.f_bsize = space.f_frsize = 4096;
  space.f_blocks = space.f_bfree = space.f_bavail = kBlocks;
  space.f_files = space.f_ffree = space.f_favail = kBlocks;
  space.f_namemax = 255;
  fuse_reply_statfs(request, &space);
}

// ---- open files ---------------------------------------------------------------------------------

void Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  const NodePtr node = number == kControl ? nullptr : NodeOf(number);
  if (number != kControl && node == nullptr) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  auto handle = std::make_unique<Handle>(Handle{node, TheState().power_cuts, {}, {}});
  if (number == kControl) {
    handle->text = Report();
    info->direct_io = 1;
  }
  info->fh = reinterpret_cast<uint64_t>(handle.release());  // NOLINT
  fuse_reply_open(request, info);
}

void Close(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  delete HandleOf(info);
  fuse_reply_err(request, 0);
}

void Read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  const Handle& handle = *HandleOf(info);
  if (number != kControl && !IsPowered(handle)) {
    fuse_reply_err(request, EIO);
    return;
  }
  const std::string& text = number == kControl ? handle.text : handle.node->data;
  const auto begin = std::min(static_cast<size_t>(offset), text.size());
  fuse_reply_buf(request, text.data() + begin, std::min(size, text.size() - begin));
}

void Write(fuse_req_t request, fuse_ino_t number, const char* bytes, size_t size, off_t offset,
           fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  const Handle& handle = *HandleOf(info);
  if (number == kControl) {
    if (Command(std::string(bytes, size))) {
      fuse_reply_write(request, size);
    } else {
      fuse_reply_err(request, EINVAL);
    }
    return;
  }
  if (!IsPowered(handle)) {
    fuse_reply_err(request, EIO);
    return;
  }
  TheState().disk.Write(*handle.node, static_cast<uint64_t>(offset), {bytes, size});
  fuse_reply_write(request, size);
}

void Allocate(fuse_req_t request, fuse_ino_t /*number*/, int mode, off_t offset, off_t length,
              fuse_file_info* info) {
  constexpr int kKeepSize = 1;  // FALLOC_FL_KEEP_SIZE
  const std::scoped_lock lock(TheState().mutex);
  const Handle& handle = *HandleOf(info);
  int error = 0;
  if (!IsPowered(handle)) {
    error = EIO;
  } else if ((mode & ~kKeepSize) != 0) {
    error = EOPNOTSUPP;
  } else if (mode == 0) {
    const auto size = static_cast<uint64_t>(offset + length);
    if (size > handle.node->data.size()) TheState().disk.Resize(*handle.node, size);
  }
  fuse_reply_err(request, error);
}

// ---- syncs --------------------------------------------------------------------------------------

// The answer of a sync whose time has come.
int Finish(const NodePtr& node, uint64_t up_to, uint64_t power_cuts) {
  State& state = TheState();
  if (power_cuts != state.power_cuts) return EIO;
  state.disk.Sync(*node, up_to);
  return 0;
}

void Sync(fuse_req_t request, fuse_ino_t /*number*/, int /*data_only*/, fuse_file_info* info) {
  State& state = TheState();
  const std::scoped_lock lock(state.mutex);
  const Handle& handle = *HandleOf(info);
  ++state.syncs;
  const uint64_t up_to = state.disk.sequence();
  if (state.delay.count() == 0) {
    fuse_reply_err(request, Finish(handle.node, up_to, handle.power_cuts));
    return;
  }
  const auto due = std::chrono::steady_clock::now() + state.delay;
  state.waiting.push_back({due, request, handle.node, up_to, handle.power_cuts});
  state.has_waiting.notify_one();
}

// Answers the syncs when they are due; all wait for the same time, so that the first is the next.
void AnswerSyncs(const std::stop_token& stop) {
  State& state = TheState();
  std::unique_lock lock(state.mutex);
  while (state.has_waiting.wait(lock, stop, [&] { return !state.waiting.empty(); })) {
    const Waiting next = state.waiting.front();
    if (std::chrono::steady_clock::now() < next.due) {
      lock.unlock();
      std::this_thread::sleep_until(next.due);
      lock.lock();
    }
    state.waiting.pop_front();
    fuse_reply_err(next.request, Finish(next.node, next.up_to, next.power_cuts));
  }
}

// ---- listings -----------------------------------------------------------------------------------

void OpenDirectory(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  const NodePtr node = NodeOf(number);
  if (node == nullptr) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  auto handle = std::make_unique<Handle>(Handle{node, TheState().power_cuts, {}, {}});
  handle->listing = {{".", node}, {"..", node}};
  handle->listing.insert(handle->listing.end(), node->entries.begin(), node->entries.end());
  info->fh = reinterpret_cast<uint64_t>(handle.release());  // NOLINT
  fuse_reply_open(request, info);
}

void ReadDirectory(fuse_req_t request, fuse_ino_t /*number*/, size_t size, off_t offset,
                   fuse_file_info* info) {
  const std::scoped_lock lock(TheState().mutex);
  const Handle& handle = *HandleOf(info);
  std::vector<char> buffer(size);
  size_t used = 0;
  for (auto at = static_cast<size_t>(offset); at < handle.listing.size(); ++at) {
    const auto& [name, node] = handle.listing[at];
    const struct stat status = StatusOf(node);
    const size_t length = fuse_add_direntry(request, buffer.data() + used, size - used,
                                            name.c_str(), &status, static_cast<off_t>(at + 1));
    if (length > size - used) break;
    used += length;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

// ---- the session --------------------------------------------------------------------------------

void Initialize(void* /*unused*/, fuse_conn_info* connection) {
  // Nobody but us changes files, and what a cut changes is not open.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
}

fuse_lowlevel_ops Operations() {
  fuse_lowlevel_ops operations{};
  operations.init = Initialize;
  operations.lookup = Lookup;
  operations.forget = Forget;
  operations.getattr = GetStatus;
  operations.setattr = SetStatus;
  operations.mkdir = MakeDirectory;
  operations.create = CreateFile;
  operations.unlink = Unlink;
  operations.rmdir = RemoveDirectory;
  operations.rename = Rename;
  operations.open = Open;
  operations.release = Close;
  operations.read = Read;
  operations.write = Write;
  operations.fallocate = Allocate;
  operations.fsync = Sync;
  operations.opendir = OpenDirectory;
  operations.releasedir = Close;
  operations.readdir = ReadDirectory;
  operations.fsyncdir = Sync;
  operations.statfs = GetSpace;
  return operations;
}

int Serve(const char* directory) {
  std::string program = "power_fs";
  std::string option = "-o";
  std::string value = "fsname=power";
  char* arguments[] = {program.data(), option.data(), value.data()};
  fuse_args args = FUSE_ARGS_INIT(3, arguments);
  const fuse_lowlevel_ops operations = Operations();
  fuse_session* const session = fuse_session_new(&args, &operations, sizeof operations, nullptr);
  if (session == nullptr) return 1;
  int status = 1;
  if (fuse_set_signal_handlers(session) == 0 && fuse_session_mount(session, directory) == 0) {
    const std::jthread syncs(AnswerSyncs);
    status = fuse_session_loop(session) == 0 ? 0 : 1;
    fuse_session_unmount(session);
  }
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: power_fs DIRECTORY\n", stderr);
    return 2;
  }
  return Serve(arguments[1]);
}
