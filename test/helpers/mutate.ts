export const pick = <Item>(random: () => number, items: readonly Item[]): Item => {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

/** Bytes that often break parsers. */
const ODD = [
  '\0',
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ':',
  '@',
  '%',
  '%00',
  '%2e',
  '/',
  '\\',
  '//',
  '?',
  '#',
  '&',
  '=',
  ',',
  ';',
]
const MORE = ['"', "'", '[', ']', '{', '}', '-1', '0x', '1e9', '9'.repeat(20), '\xff', '\xc0\xaf', '\u202e', '..', '%']

/** Returns one of the seeds with some bytes flipped, cut, doubled, moved, or replaced by odd ones or another seed's. */
export function mutate(random: () => number, seeds: readonly (string | Buffer)[]): Buffer {
  const number = (below: number) => Math.floor(random() * below)
  let bytes = Buffer.from(pick(random, seeds))
  for (let left = number(6); left >= 0; left--) {
    const at = number(bytes.length + 1)
    const end = Math.min(bytes.length, at + number(random() < 0.8 ? 8 : 200))
    const insert = (what: Buffer) => Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(end)])
    switch (number(8)) {
      case 0:
        bytes = Buffer.from(bytes)
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << number(8))
        break
      case 1:
        bytes = insert(Buffer.alloc(0))
        break
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
        break
      case 3:
        bytes = insert(Buffer.from(pick(random, random() < 0.5 ? ODD : MORE), 'latin1'))
        break
      case 4:
        bytes = insert(Buffer.from(Array.from({ length: number(6) }, () => number(256))))
        break
      case 5: {
        const other = Buffer.from(pick(random, seeds))
        bytes = Buffer.concat([bytes.subarray(0, at), other.subarray(number(other.length))])
        break
      }
      case 6:
        bytes = insert(
          Buffer.alloc(number(random() < 0.95 ? 20 : 20_000), pick(random, ['a', '0', '/', '%', '\r\n', '['])),
        )
        break
      default:
        bytes = bytes.subarray(0, random() < 0.3 ? at : bytes.length)
    }
  }
  return bytes
}

/** Finds the slowest of many short runs and measures it again, because a busy machine also slows runs down. */
export function stopwatch<Input>(work: (input: Input) => void) {
  let slowest: { input: Input; ms: number } | undefined
  return {
    time(input: Input): void {
      const since = performance.now()
      work(input)
      const ms = performance.now() - since
      if (slowest === undefined || ms > slowest.ms) slowest = { input, ms }
    },
    /** Milliseconds of the fastest of five runs. */
    again(): number {
      if (slowest === undefined) return 0
      const { input } = slowest
      const times = Array.from({ length: 5 }, () => {
        const since = performance.now()
        work(input)
        return performance.now() - since
      })
      return Math.round(Math.min(...times) * 100) / 100
    },
  }
}
