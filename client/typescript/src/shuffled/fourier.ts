/** Fourier transforms of complex numbers whose count is a power of two, in place. */

export interface Waves {
  readonly real: Float64Array;
  readonly imaginary: Float64Array;
}

/** F_k = Σ_j points_j e^(±2πijk/n), minus for `sign` = −1. */
export function transform({ real, imaginary }: Waves, sign: 1 | -1): void {
  reorder(real, imaginary);
  const count = real.length;
  for (let half = 1; half < count; half *= 2) {
    for (let place = 0; place < half; place++) {
      const angle = (sign * Math.PI * place) / half;
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
      for (let low = place; low < count; low += 2 * half) {
        const high = low + half;
        const re = real[high]! * cosine - imaginary[high]! * sine;
        const im = real[high]! * sine + imaginary[high]! * cosine;
        real[high] = real[low]! - re;
        imaginary[high] = imaginary[low]! - im;
        real[low]! += re;
        imaginary[low]! += im;
      }
    }
  }
}

/** Each point goes to the place whose bits are the reverse of its own. */
function reorder(real: Float64Array, imaginary: Float64Array): void {
  for (let from = 1, to = 0; from < real.length; from++) {
    let bit = real.length >> 1;
    for (; to & bit; bit >>= 1) to ^= bit;
    to ^= bit;
    if (from < to) {
      [real[from], real[to]] = [real[to]!, real[from]!];
      [imaginary[from], imaginary[to]] = [imaginary[to]!, imaginary[from]!];
    }
  }
}
