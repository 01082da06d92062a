import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { checksumAddress } from '../../../src/api/address.ts'
import { saveAddresses } from '../../helpers/saved-addresses.ts'
import { folder } from '../batch/drop.ts'
import { cli, errorOf } from '../harness.ts'

const address = (digit: number) => `0x${String(digit).repeat(40)}`
const COUNTED = `receiver,count\n${[1, 2, 3, 4, 5].map((i) => `${address(i)},${i * 10}`).join('\n')}\n`
const PLAIN = `${address(1)}\n${address(2)}\n${address(3)}\n`
const THIRDWEB = `receiver,count\n${[1, 2, 3].map((i) => `${address(i)},${i}`).join('\n')}\n`
/** Trees of the same lists, as `@openzeppelin/merkle-tree` dumped them. */
const DUMPS = JSON.parse(await readFile(new URL('../../wallet/proofs/oz-dumps.json', import.meta.url), 'utf8'))
const STAGE = {
  mintPrice: '10000000000000000',
  startTime: 1_790_000_000,
  endTime: 1_800_000_000,
  dropStageIndex: 1,
  maxTokenSupplyForStage: 1000,
  feeBps: 250,
  restrictFeeRecipients: true,
}
const MIXED = checksumAddress('0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359')

async function prepare(list: string, format = 'oz', params?: unknown) {
  const { path, options } = await folder({ 'list.csv': list, 'stage.json': JSON.stringify(params ?? {}) })
  const flags = params === undefined ? [] : ['--params', path('stage.json')]
  const argv = ['wallet', 'proofs', path('list.csv'), '--format', format, ...flags]
  return { path, options, gdn: (...more: string[]) => cli([...argv, ...more], options) }
}

/** Returns the first line of the error and the hint, without the folder of the files. */
async function problemOf(list: string, format = 'oz', params?: unknown): Promise<string> {
  const { path, gdn } = await prepare(list, format, params)
  const { code, stdout, stderr } = await gdn('-q')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  return stderr.replaceAll(`${path('')}/`, '').trimEnd()
}

describe('gdn wallet proofs', () => {
  test.each([
    ['oz', COUNTED, DUMPS.counted],
    ['oz', PLAIN, DUMPS.listed],
    ['thirdweb', THIRDWEB, DUMPS.thirdweb],
  ])("--out writes the tree of the format %s as OpenZeppelin's library dumps it", async (format, list, dump) => {
    const { path, gdn } = await prepare(list, format)
    const { code, stdout } = await gdn('--out', path('claim'), '-o', 'ids')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${dump.tree[0]}\n` })
    expect(JSON.parse(await readFile(path('claim/tree.json'), 'utf8'))).toEqual(dump)
  })

  test('takes names in a list, and the members of a group, each address once', async () => {
    const { path, options } = await folder({ 'list.csv': `@alice\n${address(2)}\n`, 'plain.csv': PLAIN })
    const { alice, carol } = { alice: address(1), carol: address(3) }
    await saveAddresses(path('.local/state/gdn'), { alice, again: address(4), carol })
    const rootOf = async (list: string) => await cli(['wallet', 'proofs', list, '--format', 'oz', '-o', 'ids'], options)
    const pair = await cli(['wallet', 'proofs', '-', '--format', 'oz', '-o', 'ids'], {
      ...options,
      stdin: `${address(1)}\n${address(2)}\n`,
    })
    expect((await rootOf(path('list.csv'))).stdout).toBe(pair.stdout)
    await cli(['wallet', 'group', '@team', '@alice', address(2), '@again', '@carol'], options)
    await cli(['wallet', 'rm', 'again'], options)
    await cli(['wallet', 'add', 'again', address(1)], options)
    const ofGroup = await rootOf('@team')
    expect(ofGroup.stdout).toBe((await rootOf(path('plain.csv'))).stdout)
    expect(ofGroup.stderr).toContain('@team has several members with the same address, which count as one: @again')
    expect((await rootOf('@taem')).stderr).toMatch(/<list>: @taem is not the name of a group.*\n.*Did you mean @team\?/)
  })

  test.each([
    ['a header', `receiver\n${address(1)}\nalice.eth\n`, 3],
    ['no header', 'alice.eth\n', 1],
  ])('rejects an ENS name in a list with %s, with its line', async (_how, text, line) => {
    const problem = await problemOf(text)
    expect(problem).toContain(`list.csv:${line}:1 (receiver): "alice.eth" is an ENS name, but proofs need addresses`)
    expect(problem).toContain('Use the address of the name.')
  })

  test('--out writes the root, and each proof in the file of the first digits of its address, as --json prints it', async () => {
    const near = `0x111${'9'.repeat(37)}`
    const { path, gdn } = await prepare(`${COUNTED}${near},7\n`)
    const { root, proofs, ...summary } = JSON.parse((await gdn('--json')).stdout)
    expect(summary).toEqual({ format: 'oz', receivers: 6, leaf_encoding: ['address', 'uint256'], warnings: [] })
    expect(JSON.parse((await gdn('--out', path('new/claim'), '--json')).stdout)).toEqual({
      ...summary,
      root,
      out: path('new/claim'),
    })
    const { warnings: _warnings, ...rest } = summary
    expect(JSON.parse(await readFile(path('new/claim/root.json'), 'utf8'))).toEqual({ ...rest, root })
    const names = (await readdir(path('new/claim/proofs'))).sort()
    expect(names).toEqual(['111.json', '222.json', '333.json', '444.json', '555.json'])
    const written = await Promise.all(names.map((name) => readFile(path(`new/claim/proofs/${name}`), 'utf8')))
    const shards = written.map((text) => JSON.parse(text))
    expect(Object.keys(shards[0])).toEqual([address(1), near])
    expect(Object.assign({}, ...shards)).toEqual(proofs)
    expect(proofs[near].count).toBe('7')
    expect(await readdir(path('new'))).toEqual(['claim'])
  })

  test('--fields selects the proofs only where they are printed', async () => {
    const { path, gdn } = await prepare(PLAIN)
    expect(Object.keys(JSON.parse((await gdn('-o', 'ndjson', '--fields', 'proofs,root')).stdout))).toEqual([
      'proofs',
      'root',
    ])
    expect((await gdn('-o', 'csv', '--fields', 'proofs')).code).toBe(2)
    expect((await gdn('--json', '--fields', 'proofs', '--out', path('claim'))).code).toBe(2)
    expect((await gdn('--json', '--fields', `proofs.${address(1)}`)).code).toBe(2)
  })

  test('reads a list with token IDs from standard input, with any spelling of an address', async () => {
    const { options } = await folder({})
    const stdin = `receiver,count,token_ids\r\n${MIXED},2,1 2\r\n${address(1)},1,3\r\n`
    const { stdout } = await cli(['wallet', 'proofs', '-', '--format', 'oz', '--json'], { ...options, stdin })
    expect(Object.keys(JSON.parse(stdout).proofs)).toEqual([MIXED.toLowerCase(), address(1)])
  })

  test('keeps an existing directory; --force replaces only a directory of proofs', async () => {
    const { path, gdn } = await prepare(PLAIN)
    const out = ['--out', path('claim')]
    expect((await gdn(...out)).code).toBe(0)
    const before = await readFile(path('claim/root.json'), 'utf8')
    await writeFile(path('list.csv'), COUNTED)
    const kept = await gdn(...out, '--json')
    expect(errorOf(kept)).toMatchObject({
      code: 'usage',
      hint: expect.stringContaining('--force'),
    })
    expect(await readFile(path('claim/root.json'), 'utf8')).toBe(before)
    expect((await gdn(...out, '--force')).code).toBe(0)
    expect(JSON.parse(await readFile(path('claim/root.json'), 'utf8')).root).toBe(DUMPS.counted.tree[0])
    expect(await readdir(path('claim/proofs'))).not.toContain('000.json')
    for (const name of ['claim/notes.txt', 'claim/proofs/notes.txt']) {
      const other = await prepare(PLAIN)
      await other.gdn('--out', other.path('claim'))
      await writeFile(other.path(name), 'mine')
      const refused = await other.gdn('--out', other.path('claim'), '--force', '--json')
      expect(errorOf(refused).message).toContain('has files that are not proofs')
      expect(await readFile(other.path(name), 'utf8')).toBe('mine')
    }
    await mkdir(path('empty'))
    expect((await gdn('--out', path('empty'))).code).toBe(0)
    await writeFile(path('file'), '')
    expect((await gdn('--out', path('file'), '--force')).stderr).toContain('is not a directory')
    expect((await readdir(path(''))).filter((name) => /^\.(claim|empty|file)/.test(name))).toEqual([])
  })

  test('writes nothing if the list is invalid', async () => {
    const { path, gdn } = await prepare(`${PLAIN}0x12\n`)
    expect((await gdn('--out', path('claim'))).code).toBe(2)
    expect((await readdir(path(''))).filter((name) => name.includes('claim'))).toEqual([])
  })

  test.each([
    [`receiver,count\n${address(1)},1\n${MIXED.replace('f', 'F')},1\n`, 'list.csv:3:1: receiver has a wrong checksum'],
    [
      `${address(1)}\nvitalik.eth\n`,
      'list.csv:2:1 (receiver): "vitalik.eth" is an ENS name, but proofs need addresses',
    ],
    [`${address(1)}\n0x${'0'.repeat(40)}\n`, 'list.csv:2:1'],
    [`${address(1)}\n\u001b[2Jx\n`, 'list.csv:2:1: receiver is not an EVM address'],
    [`${MIXED}\n\n${MIXED.toLowerCase()}\n`, 'list.csv:3:1: receiver is already on line 1'],
    [`receiver,count\n${address(1)},0\n`, 'list.csv:2:2: count must be a whole number of at least 1, not "0"'],
    [`receiver,count\n${address(1)},1.5\n`, 'list.csv:2:2: count must be'],
    [`receiver,count\n${address(1)},\n`, 'list.csv:2:2: count must be'],
    [`receiver,count\n${address(1)},${2n ** 256n}\n`, 'list.csv:2:2: count must be'],
    [`receiver,count\n,1\n`, 'list.csv:2:1: receiver is required'],
    [`receiver,amount\n${address(1)},1\n`, 'list.csv:1:2: unknown column "amount"'],
    [`receiver,count,count\n${address(1)},1,1\n`, 'list.csv:1:3: the column count is repeated'],
    [`receiver,price\n${address(1)},1\n`, 'list.csv:1:2: unknown column "price"'],
    [`count\n1\n`, 'list.csv:1:1: has no column receiver'],
    [`${address(1)},2\n`, 'list.csv:1:1: has an address instead of a column name'],
    ['receiver,count\n', 'list.csv: has no receivers'],
    ['', 'list.csv: is empty'],
  ])('rejects the list %j with the place', async (list, problem) => {
    expect(await problemOf(list)).toContain(`error: ${problem}`)
  })

  test.each([
    ['0.01,', '2:2: price must be a whole number, not "0.01"'],
    ['-1,', '2:2: price must be a whole number'],
    [`,${MIXED}`, '2:3 (currency): a currency without a price has no effect'],
    ['5,USDC', '2:3: currency is not an EVM address'],
  ])('rejects the price and currency %j of thirdweb with the place', async (cells, problem) => {
    const list = `receiver,price,currency\n${address(1)},${cells}\n`
    expect(await problemOf(list, 'thirdweb')).toContain(`error: list.csv:${problem}`)
  })

  test('warns of receivers with the price 0, with the line of the first', async () => {
    const { path, gdn } = await prepare(
      `receiver,price\n${address(1)},\n${address(2)},0\n${address(3)},0\n`,
      'thirdweb',
    )
    const { code, stderr } = await gdn('-q')
    expect(code).toBe(0)
    expect(stderr).toContain(
      `${path('list.csv')}:3: a price of 0 lets ${address(2)} and 1 other receiver claim for free`,
    )
    expect(JSON.parse((await gdn('--json')).stdout).warnings).toHaveLength(1)
  })

  test.each([
    [{ mintPrice: undefined }, 'stage.json: mintPrice is required'],
    [{ mintPrice: '0.1' }, 'stage.json: mintPrice must be a whole number from 0 to 2^256-1'],
    [{ mintPrice: String(2n ** 256n) }, 'stage.json: mintPrice must be a whole number'],
    [{ mintPrice: 1e17 }, 'stage.json: mintPrice is too large for a JSON number'],
    [{ startTime: 1_790_000_000_000, endTime: 1_800_000_000_000 }, 'stage.json: startTime must be in seconds'],
    [{ endTime: 1 }, 'stage.json: endTime must not be before startTime'],
    [{ dropStageIndex: 0 }, 'stage.json: dropStageIndex must be at least 1'],
    [{ maxTokenSupplyForStage: 0 }, 'stage.json: maxTokenSupplyForStage must be at least 1'],
    [{ feeBps: 10_001 }, 'stage.json: feeBps must be at most 10000'],
    [{ restrictFeeRecipients: 'yes' }, 'stage.json: restrictFeeRecipients must be true or false'],
    [{ restrictFeeRecipients: undefined }, 'stage.json: restrictFeeRecipients is required'],
    [{ maxTotalMintableByWallet: 0 }, 'stage.json: maxTotalMintableByWallet must be at least 1'],
    [{ feeBPS: 1 }, 'stage.json: feeBPS is not a member of MintParams'],
  ])('rejects the MintParams %j with the field', async (change, problem) => {
    expect(await problemOf(COUNTED, 'seadrop', { ...STAGE, ...change })).toContain(`error: ${problem}`)
  })

  test('takes maxTotalMintableByWallet from the counts, and prefers that of --params with a warning', async () => {
    expect(await problemOf(PLAIN, 'seadrop', STAGE)).toContain('maxTotalMintableByWallet is required')
    const limits = async (list: string, params: unknown) => {
      const { stdout } = await (await prepare(list, 'seadrop', params)).gdn('--json')
      const { proofs, warnings } = JSON.parse(stdout)
      return [proofs[address(2)].mintParams.maxTotalMintableByWallet, warnings.length]
    }
    expect(await limits(COUNTED, STAGE)).toEqual(['20', 0])
    expect(await limits(COUNTED, { ...STAGE, maxTotalMintableByWallet: 3 })).toEqual(['3', 1])
    expect(await limits(PLAIN, { ...STAGE, maxTotalMintableByWallet: 3 })).toEqual(['3', 0])
  })

  test('rejects flags of another format before it reads the list', async () => {
    const { path, options } = await folder({})
    const fails = async (...argv: string[]) => {
      const result = await cli(['wallet', 'proofs', path('missing.csv'), ...argv, '--json'], options)
      expect(result.code).toBe(2)
      return errorOf(result).message
    }
    expect(await fails()).toContain('--format')
    expect(await fails('--format', 'oz', '--params', 'x.json')).toContain('--params')
    expect(await fails('--format', 'seadrop')).toContain('--params')
    expect(await fails('--format', 'oz', '--force')).toContain('--force')
    expect(await fails('--format', 'oz')).toContain("missing.csv: doesn't exist")
  })
})
