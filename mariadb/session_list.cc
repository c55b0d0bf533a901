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

}  // namespace cairn
