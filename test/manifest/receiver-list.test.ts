import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { decodeText } from '../../src/manifest/decode.ts'
import { ListCounts, MAX_LIST_NFTS } from '../../src/manifest/list-counts.ts'
import { ManifestError } from '../../src/manifest/manifest-error.ts'
import { type ListOptions, readReceiverList } from '../../src/manifest/receiver-list.ts'

const [A, B] = ['0x105BA2A3D820926739b9443a81fb7ab5C531e823', '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811']
const SOLANA = 'Vote111111111111111111111111111111111111111'

/** Returns the lines of a list as `line receiver count`, and its problems as `line:column message`. */
async function read(
  text: string | Uint8Array,
  options: Partial<ListOptions> = {},
  chunk = Number.MAX_SAFE_INTEGER,
): Promise<string[]> {
  const lines: string[] = []
  const bytes = (async function* () {
    const all = typeof text === 'string' ? Buffer.from(text) : text
    for (let at = 0; at < all.length || at === 0; at += chunk) yield all.subarray(at, at + chunk)
  })()
  try {
    const list = readReceiverList(decodeText(bytes, 'list.csv'), 'list.csv', {
      blockchain: 'polygon',
      merge: false,
      ...options,
    })
    const counts = new ListCounts()
    for await (const entries of list) {
      for (const entry of entries) {
        const found = 'issue' in entry ? entry : counts.parseCount(entry)
        if (typeof found === 'object') {
          const { place, message } = found.issue
          lines.push(`${place.line}:${place.column} ${message}`)
        } else if (!('issue' in entry)) lines.push(`${entry.line} ${entry.receiver} ${found}`)
      }
    }
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { place, message } = error.issue
    lines.push(`${place.line ?? ''}:${place.column ?? ''} ${message}`)
  }
  return lines
}

describe('a list of receivers', () => {
  test.each([
    ['with the columns receiver, count and token_ids', `receiver,count,token_ids\n${A},2,"1, 2"\n${B},1,3\n`],
    ['with columns in another order', `token_ids,count,receiver\n"1, 2",2,${A}\n3,1,${B}\n`],
    ['with a BOM, CRLF and quotes', `\uFEFF"receiver","count"\r\n"${A}","2"\r\n"${B}","1"\r\n`],
    ['with two kinds of line endings', `receiver,count\r\n${A},2\r\n${B},1\n`],
    ['with the line endings of old Macs', `receiver,count\r${A},2\r${B},1\r`],
    ['with semicolons and lower-case addresses', `receiver;count\n${A.toLowerCase()};2\n${B.toLowerCase()};1\n`],
  ])('%s has one receiver per line', async (_form, text) => {
    expect(await read(text)).toEqual([`2 ${A} 2`, `3 ${B} 1`])
    expect(await read(text, {}, 1)).toEqual([`2 ${A} 2`, `3 ${B} 1`])
  })

  test('needs no header if it has one address per line', async () => {
    expect(await read(`${A}\n\n${B}\n`)).toEqual([`1 ${A} 1`, `3 ${B} 1`])
  })

  test('has addresses of its blockchain', async () => {
    expect(await read(`receiver\n${SOLANA}\n`, { blockchain: 'solana' })).toEqual([`2 ${SOLANA} 1`])
    expect(await read(`${SOLANA}\n`, { blockchain: 'solana' })).toEqual([`1 ${SOLANA} 1`])
    expect(await read(`receiver\n${A}\n`, { blockchain: 'solana' })).toEqual([expect.stringMatching(/^2:1 .*Solana/)])
    expect(await read(`receiver\n${SOLANA}\n`)).toEqual([expect.stringMatching(/^2:1 receiver /)])
  })

  test.each([
    ['a wrong checksum', `receiver\n${A.replace('BA2', 'Ba2')}\n`, /^2:1 receiver has a wrong checksum/],
    ['a wrong checksum in the first line without a header', `${A.replace('BA2', 'Ba2')}\n`, /^1:1 .* wrong checksum/],
    ['a name', 'receiver\nalice.eth\n', /^2:1 receiver is a name/],
    ['no address', `receiver,count\n,1\n`, /^2:1 receiver is required/],
    ['the count 0', `receiver,count\n${A},0\n`, /^2:2 count must be a whole number of at least 1/],
    ['a negative count', `receiver,count\n${A},-1\n`, /^2:2 count must be/],
    ['a count in words', `receiver,count\n${A},two\n`, /^2:2 count must be/],
    ['a fractional count', `receiver,count\n${A},1.5\n`, /^2:2 count must be/],
    ['no count', `receiver,count\n${A},\n`, /^2:2 count must be/],
    [
      'a huge count',
      `count,receiver\n9${'0'.repeat(400)},${A}\n`,
      /^2:1 count raises the total of the list to more than/,
    ],
    ['an unknown column', `receiver,amount\n${A},1\n`, /^1:2 unknown column "amount"/],
    ['no column receiver', `count\n1\n`, /^1:1 has no column receiver/],
    ['a column twice', `receiver,wallet,count\n${A},${A},1\n`, /^1:2 /],
    ['several columns without a header', `${A},2\n`, /^1:1 has an address instead of a column name/],
    ['too many cells', `receiver,count\n${A},1,2\n`, /^2:3 has 3 cells/],
    ['nothing', '', /is empty/],
  ])('with %s is rejected with its line and column', async (_what, text, problem) => {
    expect(await read(text)).toEqual([expect.stringMatching(problem)])
  })

  test('with the columns of contacts is rejected with the command that imports them', async () => {
    const bytes = Readable.from([Buffer.from(`name,address,groups\nalice,${A},team\n`)])
    const list = readReceiverList(decodeText(bytes, 'c.csv'), 'c.csv', { blockchain: 'polygon' })
    await expect(list.next()).rejects.toMatchObject({
      issue: {
        place: { line: 1, column: 1 },
        hint: expect.stringContaining('run `gdn wallet add --from c.csv`, and then use a group such as @team'),
      },
    })
  })

  test('with a sum of counts above the limit is rejected at the line that exceeds it', async () => {
    const text = `receiver,count\n${A},${MAX_LIST_NFTS}\n${B},1\n`
    expect(await read(text)).toEqual([`2 ${A} ${MAX_LIST_NFTS}`, expect.stringMatching(/^3:2 count raises the total/)])
  })

  test('with a receiver on two lines is rejected with both lines, in any spelling', async () => {
    const text = `receiver,count\n${A},1\n${B},1\n${A.toLowerCase()},2\n`
    expect(await read(text)).toEqual([`2 ${A} 1`, `3 ${B} 1`, '4:1 receiver is already on line 2'])
    expect(await read(text, { merge: true })).toEqual([`2 ${A} 1`, `3 ${B} 1`, `4 ${A} 2`])
  })
})
