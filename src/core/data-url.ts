/**
 * Returns the bytes of a data URL (RFC 2397), or null if it has no comma or its base64 is invalid. Like browsers, it
 * ignores white space in base64, and keeps percent signs that aren't followed by two hex digits. Unlike browsers, it
 * accepts base64url, and doesn't end the content at a `#`, because contracts often leave it unencoded in SVG images.
 */
export function decodeDataUrl(url: string): Uint8Array | null {
  const comma = url.indexOf(',')
  if (comma < 0) return null
  const bytes = decodePercents(url.slice(comma + 1))
  if (!/;\s*base64\s*$/i.test(url.slice(0, comma))) return bytes
  const text = bytes.toString('latin1').replace(/\s+/g, '')
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null
}

function decodePercents(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (!text.includes('%')) return bytes
  // Each latin1 character is one byte. The decoded bytes need not be valid UTF-8.
  const decoded = bytes
    .toString('latin1')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(decoded, 'latin1')
}
