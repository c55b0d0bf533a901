#include "engine/codec/index_feature.h"

#include <iterator>
#include <utility>

#include "engine/codec/dictionary_record.h"

namespace cairn {
namespace {

constexpr std::pair<IndexFeature, const char*> kNames[] = {
    {kFeatureRestorableKey, "column read back from the key"},
    {kFeatureNoPadCollation, "NO PAD collation"},
    {kFeatureExactOrder, "exact order of a collation or prefix"},
    {kFeatureDescendingPart, "descending key part"},
    {kFeatureGeneratedColumn, "generated column"},
    {kFeatureSequence, "sequence"},
    {kFeatureGeometry, "GEOMETRY column"},
    {kFeatureTrimmedChar, "CHAR column without trailing spaces"},
    {kFeatureRowLayouts, "rows of several layouts"},
    {kFeatureForeignKeyChild, "foreign key"},
    {kFeatureForeignKeyParent, "referenced by foreign key"},
};
static_assert((uint32_t{1} << std::size(kNames)) - 1 == kKnownIndexFeatures,
              "every feature has a name");

}  // namespace

std::string NameFeatures(uint32_t features) {
  std::string names;
  const auto add = [&names](const std::string& name) {
    if (!names.empty()) names.append(", ");
    names.append(name);
  };
  for (const auto& [feature, name] : kNames) {
    if (features & feature) add(name);
  }
  for (uint32_t bit = 1; bit != 0; bit <<= 1) {
    if (features & ~kKnownIndexFeatures & bit) add("feature " + std::to_string(bit));
  }
  return names;
}

}  // namespace cairn
