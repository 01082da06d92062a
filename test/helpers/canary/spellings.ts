/**
 * Returns every form that a secret may have in bytes, computed without our code: plain, half of it, hexadecimal, base64
 * at any offset, percent-encoded, escaped as JSON, HTML and `\u`, reversed, in UTF-16.
 */
export function spellingsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const half = Math.ceil(secret.length / 2)
  const texts = [
    secret,
    secret.slice(0, half),
    secret.slice(-half),
    [...secret].reverse().join(''),
    hex,
    hex.toUpperCase(),
    hex.replace(/../g, '\\x$&'),
    hex.replace(/../g, '\\u00$&'),
    hex.replace(/../g, '%$&'),
    encodeURIComponent(secret),
    encodeURI(secret),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    secret.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[char] ?? '&quot;'),
    hex.replace(/../g, (byte) => `&#x${byte};`),
    ...[0, 1, 2].flatMap((before) => base64After(bytes, before)),
  ]
  return [...new Set(texts)].map((text) => Buffer.from(text)).concat(Buffer.from(secret, 'utf16le'))
}

/** The part of base64 that does not depend on the surrounding bytes. */
function base64After(bytes: Buffer, before: number): string[] {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
  const whole = Math.floor(((before + bytes.length) * 4) / 3)
  const own = text.slice(Math.ceil((before * 4) / 3), whole)
  return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
}

/** Returns the form in which these bytes contain a secret, or null. */
export function found(bytes: Buffer, secret: string): string | null {
  const spelling = spellingsOf(secret).find((each) => bytes.includes(each))
  return spelling?.toString('latin1') ?? null
}
