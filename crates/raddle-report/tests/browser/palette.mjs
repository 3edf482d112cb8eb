// Smaller pictures: a PNG with 256 colours or fewer. The pictures of a page have few colours, apart from the edges of letters.

import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG of 8-bit RGB or RGBA, as Chromium writes it, as one with a palette. */
export function withPalette(png) {
  const { width, height, pixels, channels } = decode(png);
  const counts = new Map();
  const keys = new Uint16Array(width * height);
  for (let at = 0; at < keys.length; at++) {
    const [r, g, b] = [pixels[at * channels], pixels[at * channels + 1], pixels[at * channels + 2]];
    const key = ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);
    keys[at] = key;
    const known = counts.get(key);
    if (known) { known.count++; known.r += r; known.g += g; known.b += b; } else counts.set(key, { key, count: 1, r, g, b });
  }
  const colours = [...counts.values()].sort((one, other) => other.count - one.count);
  const mean = (colour) => [colour.r, colour.g, colour.b].map((sum) => Math.round(sum / colour.count));
  const palette = colours.slice(0, 256).map(mean);
  const distance = (one, other) => one.reduce((sum, part, at) => sum + (part - other[at]) ** 2, 0);
  const index = new Map();
  colours.forEach((colour, at) => {
    const own = mean(colour);
    index.set(colour.key, at < 256 ? at : palette.reduce((best, other, number) => (distance(own, other) < distance(own, palette[best]) ? number : best), 0));
  });
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(keys[y * width + x]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("PLTE", Buffer.from(palette.flat())), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function decode(png) {
  let at = 8;
  const data = [];
  let [width, height, channels] = [0, 0, 3];
  while (at < png.length) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (name === "IHDR") [width, height, channels] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 6 ? 4 : 3];
    if (name === "IDAT") data.push(body);
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? pixels[y * stride + x - channels] : 0;
      const above = y > 0 ? pixels[(y - 1) * stride + x] : 0;
      const corner = x >= channels && y > 0 ? pixels[(y - 1) * stride + x - channels] : 0;
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      pixels[y * stride + x] = (raw[y * (stride + 1) + 1 + x] + guess) & 255;
    }
  }
  return { width, height, pixels, channels };
}

function paeth(left, above, corner) {
  const guess = left + above - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

function chunk(name, body) {
  const typed = Buffer.concat([Buffer.from(name, "latin1"), body]);
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  typed.copy(out, 4);
  out.writeUInt32BE(crc(typed), body.length + 8);
  return out;
}

/** The checksum of a chunk. */
function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
