/**
 * Generates independent numbers with a standard normal distribution, which are the same for a seed on every machine.
 *
 * Uniform numbers are the upper 24 bits of xoshiro128**, plus one half, divided by 2^24. Its state is the first four
 * outputs of splitmix32 for the seed. Each pair (u, v) gives two normal ones: sqrt(-2 ln u) times cos(2πv) and
 * sin(2πv).
 * @param seed 0 to 2^32 - 1
 * @see Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 2021
 * @see Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958
 */
export function normalNoise(seed: number, count: number): Float32Array {
  const uniform = xoshiro(seed);
  const noise = new Float32Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    noise[i] = radius * Math.cos(angle);
    if (i + 1 < count) noise[i + 1] = radius * Math.sin(angle);
  }
  return noise;
}

/** Numbers above 0 and below 1. */
function xoshiro(seed: number): () => number {
  const state = splitmix(seed);
  return () => {
    const [a, b, c, d] = state as unknown as [number, number, number, number];
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    state[2] = c ^ a;
    state[3] = d ^ b;
    state[1] = b ^ state[2]!;
    state[0] = a ^ state[3]!;
    state[2]! ^= b << 9;
    state[3] = rotate(state[3]!, 11);
    return ((result >>> 8) + 0.5) / 2 ** 24;
  };
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** Returns four words. For any two seeds, they differ in about half of their bits. */
function splitmix(seed: number): Uint32Array {
  return Uint32Array.from({ length: 4 }, (_, i) => {
    let word = (seed + Math.imul(i + 1, 0x9e3779b9)) | 0;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return word ^ (word >>> 15);
  });
}
