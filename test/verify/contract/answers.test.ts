import { describe, expect, test } from 'vitest'
import { GdnError } from '../../../src/core/errors.ts'
import { decodeAddresses, decodeNumber, decodeString } from '../../../src/verify/abi.ts'
import type { CallResult } from '../../../src/verify/chain-reader.ts'
import { createContractReader } from '../../../src/verify/contract/contract-reader.ts'
import { addressesIn, textIn, wordOf } from '../../helpers/answering-code.ts'

const CONTRACT = `0x${'c'.repeat(40)}`
const name = { signature: 'name()', decode: decodeString }
const supply = { signature: 'totalSupply()', decode: decodeNumber }

const nodeOf = (call: (calls: readonly { data: string; gas?: string }[], block?: string) => Promise<CallResult[]>) => ({
  call,
  codeAt: async () => [],
  storageAt: async () => [],
})

describe('contractReader', () => {
  test('asks all functions at its block, with a limit of gas except for large results', async () => {
    const seen: unknown[] = []
    const node = nodeOf(async (calls, block) => {
      seen.push(block, ...calls.map(({ gas }) => gas))
      return calls.map(() => ({ kind: 'value', data: textIn('Tide') }))
    })
    const answers = await createContractReader(node, CONTRACT, '0x10').call([name, { ...name, isLarge: true }])
    expect(answers).toEqual([{ value: 'Tide' }, { value: 'Tide' }])
    expect(seen).toEqual(['0x10', '0x2dc6c0', undefined])
  })

  test('asks one by one if the node fails for all together, and keeps the other answers', async () => {
    const node = nodeOf(async (calls) => {
      if (calls.length > 1) throw new GdnError('unreachable', 'the response is longer than 64 MiB')
      if (calls[0]?.data === '0x18160ddd') throw new GdnError('bad_answer', 'no chain responds')
      return [{ kind: 'value', data: textIn('Tide') }]
    })
    expect(await createContractReader(node, CONTRACT, '0x1').call<unknown>([name, supply])).toEqual([
      { value: 'Tide' },
      { problem: 'failed on the node: no chain responds' },
    ])
  })

  test('passes on an interruption', async () => {
    const node = nodeOf(() => Promise.reject(new GdnError('interrupted', 'stopped')))
    await expect(createContractReader(node, CONTRACT, '0x1').call([name])).rejects.toMatchObject({
      code: 'interrupted',
    })
  })

  test.each<[CallResult | undefined, string]>([
    [{ kind: 'reverted', message: 'execution reverted: \u001b[2J' }, 'reverts'],
    [{ kind: 'value', data: '0x' }, 'returns no data'],
    [{ kind: 'value', data: wordOf(1) }, 'returns malformed data'],
    [{ kind: 'value', data: `0x${'00'.repeat(131_073)}` }, 'returns more than 128 KiB'],
    [{ kind: 'failed', message: 'x'.repeat(200) }, `failed on the node: ${'x'.repeat(120)}`],
    [undefined, 'failed on the node: no response'],
  ])('states why there is no answer: %o', async (result, problem) => {
    const node = nodeOf(async () => (result === undefined ? [] : [result]))
    expect(await createContractReader(node, CONTRACT, '0x1').call([name])).toEqual([{ problem }])
  })
})

describe('decodeAddresses', () => {
  test.each([
    [addressesIn(0), []],
    [addressesIn(2), [`0x${'0'.repeat(39)}1`, `0x${'0'.repeat(39)}2`]],
    [`${addressesIn(2)}${'0'.repeat(64)}`, null],
    [`0x${'f'.repeat(128)}`, null],
    [
      addressesIn(1)
        .replace(/.{40}$/, `${'1'.repeat(40)}`)
        .replace('0'.repeat(24), '1'.repeat(24)),
      null,
    ],
    ['0x', null],
  ])('%s', (data, found) => {
    expect(decodeAddresses(data)).toEqual(found)
  })
})
