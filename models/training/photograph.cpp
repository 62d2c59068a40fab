// Rays through things: see photograph.py, which calls this. A thing is either a list of rounded prisms (primitive.py has the formula and what the numbers of a part mean) or a volume of distances (voxelise.py).
//
// Most of the time went into distances from parts that are far from the point. So the space of a list of parts is divided
// into cells, each with a list of the parts that can matter in it and bounds of the distance, which rays use to skip
// empty space.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace {

constexpr int kWidth = 28;         // numbers of a part
constexpr float kReach = 2.1f;     // half the side of the cube that is divided into cells
constexpr int kLevels = 6;         // the smallest cells are 1/32 of it
constexpr int kCells = 1 << (kLevels - 1);
constexpr float kBlends = 9;       // parts farther behind the nearest than this many seam widths do not change the union
constexpr float kSteepest = 4;     // of the distance of a tapered or bent part
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Point {
  float x, y, z;
};

float clamp(float v, float low, float high) { return std::min(std::max(v, low), high); }

struct Part {
  // As in a row, but with the frame's axes over the stretch along them.
  float centre[3], frame[9], half[3], corner, edge, taper, bend, shell, stretch[3], ring, cut[4];
  float least_stretch, per_height, steep;
  bool cut_away;

  explicit Part(const float* row) {
    std::memcpy(centre, row, kWidth * sizeof(float));
    for (int i = 0; i < 9; i++) frame[i] /= stretch[i / 3];
    least_stretch = std::min({stretch[0], stretch[1], stretch[2]});
    per_height = 1 / half[1];
    // How fast the distance can change, from the derivatives of the taper and the bend along the part's height.
    const float wide = std::max(half[0], half[2]), narrowest = std::max(1 - 1.3f * std::fabs(taper), 0.3f);
    const float slope = std::fabs(taper) * wide * per_height / narrowest + 2.6f * std::fabs(bend) * per_height;
    steep = std::min(std::sqrt(1 + slope * slope), kSteepest);
    cut_away = cut[0] != 0 || cut[1] != 0 || cut[2] != 0;
  }

  float distance(Point at) const {
    const float dx = at.x - centre[0], dy = at.y - centre[1], dz = at.z - centre[2];
    float qx = frame[0] * dx + frame[1] * dy + frame[2] * dz;
    float qy = frame[3] * dx + frame[4] * dy + frame[5] * dz;
    const float qz = frame[6] * dx + frame[7] * dy + frame[8] * dz;
    const float beyond = cut_away ? cut[0] * qx + cut[1] * qy + cut[2] * qz - cut[3] : -cut[3];
    const float height = qy * per_height;
    qx -= bend * height * height;
    float u = std::fabs(qx), v = std::fabs(qz), narrow = 1;
    if (ring > 0) {
      u = std::fabs(std::sqrt(qx * qx + qy * qy) - ring);
      qy = 0;
    } else if (taper != 0) {
      const float scale = std::max(1 + taper * clamp(height, -1.3f, 1.3f), 0.05f), inverse = 1 / scale;
      u *= inverse;
      v *= inverse;
      narrow = std::min(scale, 1.f);
    }
    const float a = rounded(u - (half[0] - corner), v - (half[2] - corner), corner) * narrow + edge;
    float d = rounded(a, std::fabs(qy) - half[1] + edge, edge);
    if (shell > 0) d = std::fabs(d + shell) - shell;
    return std::max(d, beyond) * least_stretch;
  }

  // Distance from the corner of a quadrant that a rounding of this radius makes bigger.
  static float rounded(float u, float v, float radius) { return (u > 0 && v > 0 ? std::sqrt(u * u + v * v) : std::max(u, v)) - radius; }
};

// Signed distances of a thing in its own space, negative inside.
struct Field {
  virtual ~Field() = default;
  virtual float distance(Point at) const = 0;
  // The distance where it is within `enough` of 0; elsewhere any number between it and 0 that is not within `enough`.
  virtual float bounded(Point at, float enough) const = 0;
  virtual int nearest(Point at) const = 0;
};

class Parts : public Field {
 public:
  Parts(const float* solid, int solids, const float* hollow, int hollows, float blend) : blend_(blend), cells_(kCells * kCells * kCells) {
    for (int i = 0; i < solids; i++) solid_.emplace_back(solid + i * kWidth);
    for (int i = 0; i < hollows; i++) hollow_.emplace_back(hollow + i * kWidth);
    std::vector<uint16_t> all(solids), cut(hollows);
    for (int i = 0; i < solids; i++) all[i] = uint16_t(i);
    for (int i = 0; i < hollows; i++) cut[i] = uint16_t(i);
    everything_ = Node{0, 0, 0, uint16_t(solids), uint16_t(hollows)};
    lists_ = all;
    lists_.insert(lists_.end(), cut.begin(), cut.end());
    divide(0, 0, 0, kCells, all, cut);
  }

  float distance(Point at) const override {
    const Node* node = node_at(at);
    return distance_in(node ? *node : everything_, at);
  }

  float bounded(Point at, float enough) const override {
    const Node* node = node_at(at);
    if (!node) {
      const float x = std::max(std::fabs(at.x) - kReach, 0.f), y = std::max(std::fabs(at.y) - kReach, 0.f), z = std::max(std::fabs(at.z) - kReach, 0.f);
      const float away = std::sqrt(x * x + y * y + z * z);
      return away > enough ? away : distance_in(everything_, at);
    }
    const float low = node->low, high = node->high;
    if (low > enough) return low;
    if (high < -enough) return high;
    return distance_in(*node, at);
  }

  int nearest(Point at) const override {
    const Node* node = node_at(at);
    if (!node) node = &everything_;
    float best = kInfinity;
    int which = 0;
    for (int i = 0; i < node->solids; i++) {
      const float d = solid_[lists_[node->first + i]].distance(at);
      if (d < best) best = d, which = lists_[node->first + i];
    }
    return which;
  }

 private:
  struct Node {
    float low, high;  // bounds of the distance in the cell
    uint32_t first;   // in lists_: the solid parts that matter, then the hollow ones
    uint16_t solids, hollows;
  };

  const Node* node_at(Point at) const {
    constexpr float scale = kCells / (2 * kReach);
    const float x = (at.x + kReach) * scale, y = (at.y + kReach) * scale, z = (at.z + kReach) * scale;
    if (!(x >= 0 && y >= 0 && z >= 0 && x < kCells && y < kCells && z < kCells)) return nullptr;
    return &nodes_[cells_[(int(x) * kCells + int(y)) * kCells + int(z)]];
  }

  float distance_in(const Node& node, Point at) const {
    const uint16_t* list = &lists_[node.first];
    float d[64], nearest = kInfinity;
    const int count = std::min<int>(node.solids, 64);
    for (int i = 0; i < count; i++) nearest = std::min(nearest, d[i] = solid_[list[i]].distance(at));
    for (int i = count; i < node.solids; i++) nearest = std::min(nearest, solid_[list[i]].distance(at));
    float sum = 0;
    for (int i = 0; i < node.solids; i++) {
      const float behind = (i < count ? d[i] : solid_[list[i]].distance(at)) - nearest;
      if (behind < kBlends * blend_) sum += behind == 0 ? 1 : std::exp(-behind / blend_);
    }
    float united = sum > 1 ? nearest - blend_ * std::log(sum) : nearest;
    for (int i = 0; i < node.hollows; i++) united = std::max(united, -hollow_[list[node.solids + i]].distance(at));
    return united;
  }

  // Gives the cells of a cube with its low corner in cell (x, y, z) their lists and bounds.
  void divide(int x, int y, int z, int side, const std::vector<uint16_t>& solids, const std::vector<uint16_t>& hollows) {
    const float cell = 2 * kReach / kCells, reach = side * cell * 0.8660254f;
    const Point centre = {(x + side * 0.5f) * cell - kReach, (y + side * 0.5f) * cell - kReach, (z + side * 0.5f) * cell - kReach};
    std::vector<float> least(solids.size()), cut(hollows.size());
    float low = kInfinity, high = kInfinity;
    for (size_t i = 0; i < solids.size(); i++) {
      const Part& part = solid_[solids[i]];
      const float d = part.distance(centre);
      least[i] = d - part.steep * reach;
      low = std::min(low, least[i]);
      high = std::min(high, d + part.steep * reach);
    }
    const float farthest = high + kBlends * blend_;  // parts that are always beyond this never matter
    std::vector<uint16_t> near_solids, near_hollows;
    for (size_t i = 0; i < solids.size(); i++)
      if (least[i] <= farthest) near_solids.push_back(solids[i]);
    low -= blend_ * std::log(float(near_solids.size()));
    for (size_t i = 0; i < hollows.size(); i++) {
      const Part& part = hollow_[hollows[i]];
      const float d = part.distance(centre);
      if (-d + part.steep * reach < low) continue;
      near_hollows.push_back(hollows[i]);
      high = std::max(high, -d + part.steep * reach);
      low = std::max(low, -d - part.steep * reach);
    }
    // Cubes far from the surface are not divided all the way down: one bound is enough for all of their cells.
    const bool decided = low > 0.5f * reach || high < -0.5f * reach;
    if (side > 1 && !(decided && side <= 4 && near_solids.size() <= 4)) {
      const int half = side / 2;
      for (int i = 0; i < 8; i++) divide(x + (i & 1) * half, y + (i >> 1 & 1) * half, z + (i >> 2) * half, half, near_solids, near_hollows);
      return;
    }
    const Node node = {low, high, uint32_t(lists_.size()), uint16_t(near_solids.size()), uint16_t(near_hollows.size())};
    lists_.insert(lists_.end(), near_solids.begin(), near_solids.end());
    lists_.insert(lists_.end(), near_hollows.begin(), near_hollows.end());
    for (int i = x; i < x + side; i++)
      for (int j = y; j < y + side; j++)
        for (int k = z; k < z + side; k++) cells_[(i * kCells + j) * kCells + k] = uint32_t(nodes_.size());
    nodes_.push_back(node);
  }

  std::vector<Part> solid_, hollow_;
  float blend_;
  std::vector<uint32_t> cells_;  // for each of the smallest cells its node
  std::vector<Node> nodes_;
  std::vector<uint16_t> lists_;
  Node everything_;
};

// Distances [x][y][z] in units of the thing; point (i, j, k) is at `origin` + (i, j, k) * `step`.
class Volume : public Field {
 public:
  Volume(const float* values, const int* size, const float* origin, float step) : values_(values), step_(step) {
    for (int i = 0; i < 3; i++) size_[i] = size[i], origin_[i] = origin[i];
  }

  float distance(Point at) const override {
    const float p[3] = {(at.x - origin_[0]) / step_, (at.y - origin_[1]) / step_, (at.z - origin_[2]) / step_};
    int cell[3];
    float share[3], away = 0;
    for (int i = 0; i < 3; i++) {
      const float last = float(size_[i] - 1);
      cell[i] = int(clamp(std::floor(p[i]), 0, last - 1));
      share[i] = clamp(p[i] - cell[i], 0, 1);
      const float out = std::max(p[i] - last, 0.f) + std::max(-p[i], 0.f);
      away += out * out;
    }
    const int64_t row = size_[2], slice = int64_t(size_[1]) * row;
    const float* v = values_ + cell[0] * slice + cell[1] * row + cell[2];
    const auto along_z = [&](int64_t at) { return v[at] + (v[at + 1] - v[at]) * share[2]; };
    const float near = along_z(0) + (along_z(row) - along_z(0)) * share[1];
    const float far = along_z(slice) + (along_z(slice + row) - along_z(slice)) * share[1];
    const float value = near + (far - near) * share[0];
    // All of the thing is in the box: from a point outside, the thing is beyond the box's nearest point.
    return away > 0 ? std::sqrt(value * value + away * step_ * step_) : value;
  }
  float bounded(Point at, float) const override { return distance(at); }
  int nearest(Point) const override { return 0; }

 private:
  const float* values_;
  int size_[3];
  float origin_[3], step_;
};

// A camera before a thing, in camera space: see View in photograph.py. `own` leads to the thing's space, `unit` is what
// a distance there is in camera units.
struct Camera {
  float own[12], unit, distance, centre[2], half, middle, half_depth;

  Point to_own(float x, float y, float z) const {
    return {own[0] * x + own[1] * y + own[2] * z + own[3], own[4] * x + own[5] * y + own[6] * z + own[7], own[8] * x + own[9] * y + own[10] * z + own[11]};
  }
};

struct Scene {
  const Field& field;
  const Camera& camera;

  float distance(float x, float y, float z) const { return field.distance(camera.to_own(x, y, z)) * camera.unit; }
  float bounded(float x, float y, float z, float enough) const { return field.bounded(camera.to_own(x, y, z), enough / camera.unit) * camera.unit; }
};

// The ray through the middle of a pixel, with z = -1.
void ray(const Camera& c, int size, int row, int column, float& x, float& y) {
  x = c.centre[0] + ((column + 0.5f) / size * 2 - 1) * c.half;
  y = c.centre[1] - ((row + 0.5f) / size * 2 - 1) * c.half;
}

// Rays are handled in square tiles of this size: what the cone around all of them does not meet, none of them meets.
constexpr int kTile = 8;

// How deep the rays of the tile with its first pixel at (row, column) may start: up to there nothing is nearer to one of them than `margin`.
float tile_start(const Scene& scene, int size, int row, int column, float first, float last, float margin) {
  const Camera& c = scene.camera;
  float x, y, corner_x, corner_y;
  ray(c, size, row, column, corner_x, corner_y);
  const float middle = (kTile - 1) * c.half / size;
  x = corner_x + middle;
  y = corner_y - middle;
  const float spread = middle * 1.4143f, slant = std::sqrt(x * x + y * y + 1);
  float t = first;
  for (int i = 0; i < 64 && t < last; i++) {
    const float wide = spread * t + margin;
    const float gap = scene.bounded(x * t, y * t, c.distance - t, 1.3f * wide) * 0.85f - wide;
    if (gap < 0.1f * wide) return t;
    t += gap / (slant + spread);
  }
  return std::min(t, last);
}

}  // namespace

extern "C" {

Field* parts_new(const float* solid, int solids, const float* hollow, int hollows, float blend) { return new Parts(solid, solids, hollow, hollows, blend); }

// `values` must outlive the field.
Field* volume_new(const float* values, const int* size, const float* origin, float step) { return new Volume(values, size, origin, step); }

void field_free(Field* field) { delete field; }

void field_distances(const Field* field, const float* x, const float* y, const float* z, int64_t count, float* d) {
  for (int64_t i = 0; i < count; i++) d[i] = field->distance({x[i], y[i], z[i]});
}

void field_bounded(const Field* field, const float* x, const float* y, const float* z, int64_t count, float enough, float* d) {
  for (int64_t i = 0; i < count; i++) d[i] = field->bounded({x[i], y[i], z[i]}, enough);
}

void field_nearest(const Field* field, const float* x, const float* y, const float* z, int64_t count, int32_t* which) {
  for (int64_t i = 0; i < count; i++) which[i] = field->nearest({x[i], y[i], z[i]});
}

// Where each pixel's ray enters and leaves the thing, as depths in 0 (near face of the box) .. 1 (far face): found
// [most][size][size], filled with infinity before. The distance is taken at the `steps` steps of the depth, but not at
// those that the distance before says are not at the surface; between two steps it is taken to be straight.
void column_crossings(const Field* field, const Camera* camera, int size, int steps, int most, float* found) {
  const Camera& c = *camera;
  const Scene scene = {*field, c};
  const float length = 2 * c.half_depth / steps, near_face = c.distance - c.middle - c.half_depth, far_face = near_face + 2 * c.half_depth;
  std::vector<int> starts;
  for (int row = 0; row < size; row += kTile)
    for (int column = 0; column < size; column += kTile) starts.push_back(int((tile_start(scene, size, row, column, near_face, far_face, 0) - near_face) / length));
  for (int row = 0; row < size; row++)
    for (int column = 0; column < size; column++) {
      const int start = starts[row / kTile * ((size + kTile - 1) / kTile) + column / kTile];
      if (start >= steps - 1) continue;
      float x, y;
      ray(c, size, row, column, x, y);
      const float slant = std::sqrt(x * x + y * y + 1), stride = 0.85f / (length * slant);
      const auto at = [&](int k) {
        const float t = near_face + k * length;
        return scene.bounded(x * t, y * t, c.distance - t, length * slant * 1.5f);
      };
      // The box's faces are outside, so that every interval closes.
      float before = 1;
      int last = start, count = 0, careful = 0;
      for (int k = start + 1; k <= steps && count < most;) {
        const float d = k < steps ? at(k) : 1;
        const bool crossed = (before < 0) != (d < 0);
        if (crossed && k > last + 1) {
          // Where the distance changes faster than assumed, repeat all of these steps one by one.
          careful = k;
          k = last + 1;
          continue;
        }
        if (crossed) found[(count++ * size + row) * size + column] = clamp((last + before / (before - d + 1e-9f)) / steps, 0, 1);
        before = d;
        last = k;
        const int step = k < careful ? 1 : std::max(1, int(std::fabs(d) * stride));
        k = k < steps ? std::min(k + step, steps) : k + 1;
      }
    }
}

// Sphere tracing: for each pixel the depth t along its ray where it comes nearest to the thing, and how much of it that covers.
void trace(const Field* field, const Camera* camera, int size, int steps, float* depth, float* coverage) {
  const Camera& c = *camera;
  const Scene scene = {*field, c};
  const float near_face = c.distance - c.middle - c.half_depth, far_face = near_face + 2 * c.half_depth, pixel = 2 * c.half * c.distance / size;
  for (int top = 0; top < size; top += kTile)
    for (int left = 0; left < size; left += kTile) {
      const float first = tile_start(scene, size, top, left, near_face, far_face, pixel);
      for (int row = top; row < std::min(top + kTile, size); row++)
        for (int column = left; column < std::min(left + kTile, size); column++) {
          float x, y;
          ray(c, size, row, column, x, y);
          const float slant = std::sqrt(x * x + y * y + 1);
          float t = first, best = first, closest = kInfinity;
          for (int i = 0, near = 0; near < steps && i < 4 * steps && t < far_face; i++) {
            const float d = scene.bounded(x * t, y * t, c.distance - t, 1.5f * pixel);
            if (d < closest) closest = d, best = t;
            if (std::fabs(d) < 0.05f * pixel) break;
            if (d < 1.5f * pixel) near++;
            t = std::min(t + d * 0.9f / slant, far_face);
          }
          depth[row * size + column] = best;
          coverage[row * size + column] = closest < 0.15f * pixel ? 1 : clamp(0.65f - closest / pixel, 0, 1);
        }
    }
}

// For surface points x, y, z [count]: normals [3][count], how much of the key light falls on them, how much open sky
// they see. `reach`: of the probes for the normals. `key`: toward the light. `shadows`: whether it throws any.
void light(const Field* field, const Camera* camera, const float* x, const float* y, const float* z, int64_t count, float reach, const float* key, int shadows, float* normals, float* lit, float* sky) {
  const Scene scene = {*field, *camera};
  for (int64_t i = 0; i < count; i++) {
    const float a = scene.distance(x[i] + reach, y[i] - reach, z[i] - reach), b = scene.distance(x[i] - reach, y[i] - reach, z[i] + reach);
    const float c = scene.distance(x[i] - reach, y[i] + reach, z[i] - reach), d = scene.distance(x[i] + reach, y[i] + reach, z[i] + reach);
    Point n = {a - b - c + d, -a - b + c + d, -a + b - c + d};
    const float length = std::sqrt(n.x * n.x + n.y * n.y + n.z * n.z) + 1e-9f;
    n = {n.x / length, n.y / length, n.z / length};
    normals[i] = n.x, normals[count + i] = n.y, normals[2 * count + i] = n.z;
    const bool faces = n.x * key[0] + n.y * key[1] + n.z * key[2] > 0;
    float light = shadows && !faces ? 0 : 1;
    if (shadows && faces) {
      constexpr float lift = 0.02f;
      float t = 0.04f;
      for (int k = 0; k < 12 && light > 0; k++) {
        const float enough = std::max(t / 8, 0.3f);
        const float d = scene.bounded(x[i] + n.x * lift + key[0] * t, y[i] + n.y * lift + key[1] * t, z[i] + n.z * lift + key[2] * t, enough);
        light = std::min(light, clamp(d / t * 8, 0, 1));
        t += clamp(d, 0.03f, 0.3f);
      }
    }
    lit[i] = light;
    float open = 1;
    for (const float out : {0.05f, 0.12f, 0.25f}) {
      const float d = scene.bounded(x[i] + n.x * out, y[i] + n.y * out, z[i] + n.z * out, out);
      open -= std::max(out - d, 0.f) * (0.35f / out);
    }
    sky[i] = open;
  }
}

}  // extern "C"
