// The signed distance volume of a triangle mesh that need not be closed. See voxelise.py, which compiles and calls it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

constexpr double kBand = 2.6;       // distances are exact to the triangles up to here, in voxels
constexpr double kSealed = 0.9;     // half the width of the gaps that outside air does not pass
constexpr double kSheet = 0.8;      // half the thickness that sheets are given
constexpr double kCore = 0.3;       // a thing is thick enough where there are voxels deeper than this
constexpr float kFarScale = 0.93f;  // chamfer distances are up to 8 % too long; tracing must not overstep

struct Point {
  double x, y, z;
};
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Point operator*(Point a, double s) { return {a.x * s, a.y * s, a.z * s}; }
double dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Point cross(Point a, Point b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

// Barycentric weights (of b and c) of the triangle's point nearest to p: Ericson, Real-Time Collision Detection, 5.1.5.
void nearest_on_triangle(Point p, Point a, Point b, Point c, double& v, double& w) {
  const Point ab = b - a, ac = c - a, ap = p - a;
  const double d1 = dot(ab, ap), d2 = dot(ac, ap);
  v = w = 0;
  if (d1 <= 0 && d2 <= 0) return;
  const Point bp = p - b;
  const double d3 = dot(ab, bp), d4 = dot(ac, bp);
  if (d3 >= 0 && d4 <= d3) { v = 1; return; }
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) { v = d1 / (d1 - d3); return; }
  const Point cp = p - c;
  const double d5 = dot(ab, cp), d6 = dot(ac, cp);
  if (d6 >= 0 && d5 <= d6) { w = 1; return; }
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) { w = d2 / (d2 - d6); return; }
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
    w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    v = 1 - w;
    return;
  }
  const double sum = 1 / (va + vb + vc);
  v = vb * sum;
  w = vc * sum;
}

struct Grid {
  int size[3];
  int64_t stride[3];
  int64_t count() const { return stride[0] * size[0]; }
  int64_t at(int x, int y, int z) const { return x * stride[0] + y * stride[1] + z; }
};

// Two passes over all 26 neighbours, as they lie before and behind in memory. `d` holds what is known, in voxels.
void chamfer(const Grid& g, std::vector<float>& d) {
  struct Step { int x, y, z; int64_t offset; float length; };
  std::vector<Step> steps;
  for (int x = -1; x <= 1; x++)
    for (int y = -1; y <= 1; y++)
      for (int z = -1; z <= 1; z++)
        if (x < 0 || (x == 0 && (y < 0 || (y == 0 && z < 0))))
          steps.push_back({x, y, z, g.at(x, y, z), std::sqrt(float(x * x + y * y + z * z))});
  const auto inner = [](int at, int size) { return at > 0 && at < size - 1; };
  for (int sign : {1, -1})
    for (int i = 0; i < g.size[0]; i++)
      for (int j = 0; j < g.size[1]; j++)
        for (int k = 0; k < g.size[2]; k++) {
          const int x = sign > 0 ? i : g.size[0] - 1 - i, y = sign > 0 ? j : g.size[1] - 1 - j, z = sign > 0 ? k : g.size[2] - 1 - k;
          float* here = &d[g.at(x, y, z)];
          float best = *here;
          if (best < 1) continue;
          if (inner(x, g.size[0]) && inner(y, g.size[1]) && inner(z, g.size[2])) {
            for (const Step& s : steps) best = std::min(best, here[sign * s.offset] + s.length);
          } else {
            for (const Step& s : steps) {
              const int a = x + sign * s.x, b = y + sign * s.y, c = z + sign * s.z;
              if (a < 0 || b < 0 || c < 0 || a >= g.size[0] || b >= g.size[1] || c >= g.size[2]) continue;
              best = std::min(best, here[sign * s.offset] + s.length);
            }
          }
          *here = best;
        }
}

}  // namespace

// triangles [count][3][3] in voxels: voxel (x, y, z) is the point with these coordinates. size: voxels along x, y, z.
// floor: voxels below this y let no air through. -> distance [x][y][z] in voxels, negative inside; which [x][y][z]: the
// nearest triangle, -1 beyond the band; weights [x][y][z][2]: where on it.
extern "C" void distance_volume(const double* triangles, int64_t count, const int* size, double floor, float* distance, int32_t* which, float* weights) {
  const Grid g = {{size[0], size[1], size[2]}, {int64_t(size[1]) * size[2], size[2], 1}};
  const int64_t voxels = g.count();
  const float none = std::numeric_limits<float>::max() / 4;
  std::vector<float> away(voxels, none);
  std::vector<uint8_t> crossed(voxels, 0);  // bit a: a triangle lies between this voxel and the next along axis a
  std::fill(which, which + voxels, -1);
  for (int64_t t = 0; t < count; t++) {
    const double* v = triangles + 9 * t;
    const Point a = {v[0], v[1], v[2]}, b = {v[3], v[4], v[5]}, c = {v[6], v[7], v[8]};
    Point n = cross(b - a, c - a);
    const double area = std::sqrt(dot(n, n));
    if (area > 0) n = n * (1 / area);
    int low[3], high[3];
    for (int i = 0; i < 3; i++) {
      low[i] = std::max(0, int(std::ceil(std::min({v[i], v[3 + i], v[6 + i]}) - kBand)));
      high[i] = std::min(size[i] - 1, int(std::floor(std::max({v[i], v[3 + i], v[6 + i]}) + kBand)));
    }
    for (int x = low[0]; x <= high[0]; x++)
      for (int y = low[1]; y <= high[1]; y++)
        for (int z = low[2]; z <= high[2]; z++) {
          const Point p = {double(x), double(y), double(z)};
          const int64_t i = g.at(x, y, z);
          if (area > 0 && std::fabs(dot(p - a, n)) > std::min(kBand, double(away[i]))) continue;
          double s, r;
          nearest_on_triangle(p, a, b, c, s, r);
          const Point to = p - (a + (b - a) * s + (c - a) * r);
          const double d = std::sqrt(dot(to, to));
          if (!(d <= kBand && d < away[i])) continue;  // nor where a triangle without area made it no number
          away[i] = float(d);
          which[i] = int32_t(t);
          weights[2 * i] = float(s);
          weights[2 * i + 1] = float(r);
        }
    for (int axis = 0; axis < 3; axis++) {
      const int p = (axis + 1) % 3, q = (axis + 2) % 3;
      const double whole = (v[3 + p] - v[p]) * (v[6 + q] - v[q]) - (v[3 + q] - v[q]) * (v[6 + p] - v[p]);
      if (whole == 0) continue;
      for (int i = low[p]; i <= high[p]; i++)
        for (int k = low[q]; k <= high[q]; k++) {
          const double dp = i - v[p], dq = k - v[q];
          const double s = (dp * (v[6 + q] - v[q]) - dq * (v[6 + p] - v[p])) / whole;
          const double r = (dq * (v[3 + p] - v[p]) - dp * (v[3 + q] - v[q])) / whole;
          if (s < 0 || r < 0 || s + r > 1) continue;
          const int at = int(std::floor(v[axis] + s * (v[3 + axis] - v[axis]) + r * (v[6 + axis] - v[axis])));
          if (at < 0 || at >= size[axis] - 1) continue;
          int where[3];
          where[axis] = at, where[p] = i, where[q] = k;
          crossed[g.at(where[0], where[1], where[2])] |= uint8_t(1 << axis);
        }
    }
  }

  // Air comes in from the border, first only through what is wider than the sealed gaps, then close along the surface.
  std::vector<uint8_t> air(voxels, 0);
  std::vector<int64_t> open;
  const auto below = [&](int64_t i) { return (i / g.stride[1]) % size[1] < floor; };
  for (int x = 0; x < size[0]; x++)
    for (int y = 0; y < size[1]; y++)
      for (int z = 0; z < size[2]; z++) {
        const bool border = x == 0 || y == 0 || z == 0 || x == size[0] - 1 || y == size[1] - 1 || z == size[2] - 1;
        const int64_t i = g.at(x, y, z);
        if (border && !below(i)) air[i] = 1, open.push_back(i);
      }
  std::vector<int64_t> all = open;
  for (const bool close : {false, true}) {
    open = all;
    while (!open.empty()) {
      const int64_t i = open.back();
      open.pop_back();
      const int where[3] = {int(i / g.stride[0]), int(i / g.stride[1] % size[1]), int(i % size[2])};
      for (int axis = 0; axis < 3; axis++)
        for (int step : {-1, 1}) {
          if (where[axis] + step < 0 || where[axis] + step >= size[axis]) continue;
          const int64_t next = i + step * g.stride[axis];
          const bool near = away[next] < kSealed;
          if (air[next] || near != close || below(next)) continue;
          if (crossed[step > 0 ? i : next] & (1 << axis)) continue;
          air[next] = 1;
          open.push_back(next);
          if (!close) all.push_back(next);
        }
    }
  }

  std::vector<float> inner(voxels);
  for (int64_t i = 0; i < voxels; i++) inner[i] = !air[i] && !below(i) && away[i] > kCore ? 0 : none;
  chamfer(g, inner);
  std::vector<float> far(away);
  chamfer(g, far);
  for (int64_t i = 0; i < voxels; i++) {
    const bool known = away[i] <= kBand;
    const float d = known ? away[i] : float(kBand) + (far[i] - float(kBand)) * kFarScale;
    const float outside = air[i] || below(i) ? d : -d;
    // Measured from the surface, not from the voxel; up to 1.9 is a corner of something thick.
    const float thin = std::clamp(inner[i] - std::max(outside, 0.0f) - 1.9f, 0.0f, 1.0f);
    distance[i] = known ? std::min(outside, d - float(kSheet) * thin + (1 - thin) * 2 * float(kBand)) : outside;
  }
}
