/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { RULES } from '../../../src/marketplace/rules.ts'
import { backendForTest } from '../../helpers/backend.ts'
import { pngNamed } from '../../helpers/images.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { CONTRACT, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, TARGET } from './drop.ts'

const HEADER = 'id,title,description,receiver,image,attr:Hat'
const GOOD = `${HEADER}\na,A,x,${OWNER},a.png,Cap\nb,B,x,${OWNER},a.png,Cap\n`

async function validate(text: string, argv: readonly string[] = [], marketplace = 'opensea') {
  const { path, options } = await folder({ 'drop.csv': text, 'a.png': pngNamed('a'), 'b.html': '<!doctype html>' })
  const line = ['batch', 'validate', path('drop.csv'), '-b', 'polygon', '--for', marketplace, ...argv]
  return await cli(line, options)
}

describe('batch validate --for opensea', () => {
  test('prints each warning with its location, rule and source, and exits with 0', async () => {
    const text = GOOD.replace(/Cap\n$/, 'cap\n')
    const { code, stderr } = await validate(text)
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('drop.csv:3:6 (attr:Hat): the value "cap" is spelled "Cap" on line 2')
    expect(stderr).toContain(`Rule value-spelling: ${RULES['value-spelling'].source} (${RULES['value-spelling'].date})`)
    expect(stderr).toContain('hint: ')
    expect(stderr).toContain('The collection was not checked: no collection is selected.')
    const { findings, hints } = JSON.parse((await validate(text, ['--json'])).stdout)
    expect(findings).toEqual([
      {
        ...{ severity: 'warning', row: 2, line: 3, column: 'attr:Hat', rule: 'value-spelling' },
        message: 'the value "cap" is spelled "Cap" on line 2, so OpenSea shows two filters',
        ...{ source: RULES['value-spelling'].source, source_date: RULES['value-spelling'].date },
      },
    ])
    expect(hints).toMatchObject([{ severity: 'hint', rule: 'image-pixels', row: 1, column: 'image' }])
  })

  test('exits with 2 for an error, whose details have the row, rule and source', async () => {
    const text = GOOD.replace(/a\.png,Cap\n$/, 'b.html,Cap\n')
    const result = await validate(text, ['--json'])
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'invalid_manifest',
      message: expect.stringContaining('drop.csv:3:5: image is an HTML page, but OpenSea shows only images here'),
      details: { issues: [{ row: 2, line: 3, column: 'image', rule: 'image-type', ...sourceOf('image-type') }] },
    })
  })

  test('numbers rows by their position if an earlier row has an error, and replaces the general warnings', async () => {
    const rows = [`a,A,x,nobody,a.png,Cap`, `b,B,x,${OWNER},,Cap`, `c,C,x,${OWNER},a.png,cap`]
    const { code, stderr } = await validate(`${HEADER}\n${rows.join('\n')}\n`, ['--json'])
    expect(code).toBe(2)
    const { warnings } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.details
    const found = warnings.map(({ rule, row, line }: Record<string, unknown>) => [rule, row, line])
    expect(found).toEqual([
      ['image-missing', 2, 3],
      ['value-spelling', 3, 4],
    ])
  })

  test('counts only rows without errors in warnings, and says so', async () => {
    const { path, options } = await folder({
      'drop.csv': `${HEADER}\na,A,x,nobody,a.png,Cap\nb,B,x,${OWNER},,Cap\nc,C,x,${OWNER},a.png,Cap\n`,
      'a.png': pngNamed('a'),
    })
    const { stderr } = await cli(['batch', 'validate', path('drop.csv'), '-b', 'polygon', '--json'], options)
    expect(stderr).toContain('1 of 2 valid rows has no image')
    const hats = ['Cap', 'Cap', 'Cap', 'Crown'].map((hat, at) => `${at},A,x,${OWNER},a.png,${hat}`)
    const result = await validate(`${HEADER}\nx,A,x,nobody,a.png,Crown\n${hats.join('\n')}\n`)
    expect(result.stderr).toContain('1 value of "Hat" is in only one row among 4 valid rows: "Crown" (line 6)')
  })

  test('finds nothing without the flag, and offers no marketplace without public rules', async () => {
    const { path, options } = await folder({ 'drop.csv': GOOD.replace(/Cap\n$/, 'cap\n'), 'a.png': pngNamed('a') })
    const without = await cli(['batch', 'validate', path('drop.csv'), ...TARGET, '--json'], options)
    expect(JSON.parse(without.stdout)).not.toHaveProperty('findings')
    const other = await validate(GOOD, [], 'magiceden')
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('must be one of opensea') })
  })

  test('checks the drop if the server does not know the collection', async () => {
    const { code, stderr } = await validate(GOOD, ['-c', CONTRACT, '--base-url', 'http://127.0.0.1:9'])
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('The collection was not checked: ')
  })
})

const sourceOf = (rule: keyof typeof RULES) => ({ source: RULES[rule].source, source_date: RULES[rule].date })

test('batch validate --for opensea checks the metadata in the contract of the collection', async () => {
  const backend = await backendForTest()
  const env = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const { path, options } = await folder({ 'drop.csv': GOOD, 'a.png': pngNamed('a') })
  const gdn = (...argv: string[]) => cli(argv, { ...options, env: { ...options.env, ...env } })
  const owner = newWallet()
  const created = ['--name', 'Tides', '--wallet', owner.address, '--description', 'Only in the request']
  const createResult = await gdn('collection', 'create', '-b', 'polygon', ...created, '-o', 'ids')
  expect(createResult.code, createResult.stderr).toBe(0)
  const contract = createResult.stdout.trim()
  const rules = async () => {
    const { code, stdout, stderr } = await gdn(
      ...['batch', 'validate', path('drop.csv'), '-b', 'polygon', '-c', contract, '--for', 'opensea', '--json'],
    )
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout).findings.map(({ rule, row, column }: Record<string, unknown>) => [rule, row, column])
  }
  expect(await rules()).toEqual([
    ['collection-image', null, 'image'],
    ['collection-banner', null, 'banner_image'],
    ['collection-description', null, 'description'],
  ])
  const metadata = { name: 'Tides', image: 'ipfs://a', description: 'Of the contract' }
  const uri = `data:application/json;base64,${Buffer.from(JSON.stringify(metadata)).toString('base64')}`
  const { send } = rpcOf(backend)
  expect(await send(owner, contract, { functionName: 'setContractURI', args: [uri] })).toBe('success')
  expect(await rules()).toEqual([['collection-banner', null, 'banner_image']])
})
