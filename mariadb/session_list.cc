#include "mariadb/session_list.h"

#include "mariadb/session.h"

namespace cairn {

void SessionList::Add(Session* session) {
  std::lock_guard lock(mutex_);
  sessions_.insert(session);
}

void SessionList::Remove(Session* session) {
  std::lock_guard lock(mutex_);
  sessions_.erase(session);
}

std::vector<SessionDescription> SessionList::Describe() const {
  std::lock_guard lock(mutex_);
  std::vector<SessionDescription> descriptions;
  descriptions.reserve(sessions_.size());
  for (const Session* session : sessions_) descriptions.push_back(session->Describe());
  return descriptions;
}

void SessionList::With(uint64_t transaction_id, const std::function<void(Session&)>& tell) const {
  std::lock_guard lock(mutex_);
  for (Session* const session : sessions_) {
    if (session->transaction().facts().id() == transaction_id) return tell(*session);
  }
}

}  // namespace cairn
