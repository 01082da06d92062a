/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { CAPABILITIES } from '../../../src/api/headers.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { ALICE, BOB } from '../../helpers/addresses.ts'
import { startEnsNode } from '../../helpers/ens-node.ts'
import { folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi, type Reply } from '../fake-api.ts'
import { type CliOptions, cli, timeUpWhileWaiting } from '../harness.ts'

const POLYGON = '2147483785'

/** A mint of a manifest to alice.eth that stops after the first row, and whose name then has another address. */
async function movedAfterFirstRow(manifest: string, receiver: readonly string[] = ['--receiver', 'alice.eth']) {
  const node = await startEnsNode({ 'alice.eth': { [POLYGON]: ALICE } })
  onTestFinished(node.close)
  const { path, options } = await folder({})
  await writeFile(path('drop.csv'), manifest)
  const api = await fakeApi(service())
  const env = { ...options.env, GDN_ENS_RPC_URL: node.url, GDN_API_KEY: 'key' }
  const flags = ['--in-order', '--chunk-size', '1', '--rate', '1000', '--base-url', api.url]
  const mint = (more: CliOptions = {}, output: readonly string[] = []) =>
    cli(['batch', 'mint', path('drop.csv'), ...receiver, ...TARGET, ...flags, ...output], { ...options, env, ...more })
  const write = (text: string) => writeFile(path('drop.csv'), text)
  const withoutNode = { env: { ...env, GDN_ENS_RPC_URL: '' } }
  const resume = () =>
    cli(['batch', 'resume', 'drop.csv', '--rate', '1000', '-o', 'ndjson'], { ...options, ...withoutNode })
  const over = new AbortController()
  const onStdout = (line: string) =>
    void (line.includes('"answered"') && over.abort(new GdnError('interrupted', 'interrupted')))
  const stopped = await mint({ signal: over.signal, onStdout }, ['-o', 'ndjson'])
  expect(stopped.code, stopped.stderr).toBe(130)
  node.records['alice.eth'] = { [POLYGON]: BOB }
  const sent = () =>
    (api.bodies('createnft') as { receiver_wallet_address: string; metadata: { title: string }[] }[]).map(
      ({ receiver_wallet_address: receiver, metadata: [row] }) => `${row?.title} ${receiver}`,
    )
  expect(sent()).toEqual([`A ${ALICE}`])
  return { mint, sent, write, resume, withoutNode }
}

const NAMED = 'title,description,receiver\nA,x,alice.eth\nB,x,alice.eth\nC,x,alice.eth\n'
const TO_ALICE = [`A ${ALICE}`, `B ${ALICE}`, `C ${ALICE}`]
const MOVED = `alice.eth now has the address ${BOB}. The run keeps the address ${ALICE}.`

test.each<[string, string, string[] | undefined]>([
  ['of a column', NAMED, []],
  ['of --receiver', 'title,description\nA,x\nB,x\nC,x\n', undefined],
  ['of rows with IDs', 'id,title,description\na,A,x\nb,B,x\nc,C,x\n', undefined],
])('a resumed mint keeps the address of an ENS name %s that moved, and says so once', async (_, manifest, receiver) => {
  const { mint, sent } = await movedAfterFirstRow(manifest, receiver)
  const resumed = await mint()
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(sent()).toEqual(TO_ALICE)
  expect(resumed.stderr.replaceAll(/\s+/g, ' ').split(MOVED), resumed.stderr).toHaveLength(2)
})

test('batch resume needs no Ethereum node for the names of the run', async () => {
  const { resume, sent } = await movedAfterFirstRow(NAMED, [])
  const resumed = await resume()
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(sent()).toEqual(TO_ALICE)
})

test('an edited manifest needs no Ethereum node for the names that the run has', async () => {
  const { mint, write, sent, withoutNode } = await movedAfterFirstRow(NAMED, [])
  await write(`${NAMED}D,x,alice.eth\n`)
  const resumed = await mint(withoutNode)
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(sent()).toEqual([...TO_ALICE, `D ${ALICE}`])
})

/** A single command whose receiver is alice.eth, at a server with these responses. */
async function single(
  argv: readonly string[],
  responses: Record<string, (body: never) => Reply>,
  headers: Record<string, string> = {},
) {
  const node = await startEnsNode({ 'alice.eth': { [POLYGON]: ALICE } })
  onTestFinished(node.close)
  const { options } = await folder({})
  const api = await fakeApi({
    '*': (body: never, { path }) => ({
      headers,
      ...(responses[path.replace('/api/v1/', '')]?.(body) ?? { status: 404, body: {} }),
    }),
  })
  const env = { ...options.env, GDN_ENS_RPC_URL: node.url, GDN_API_KEY: 'key' }
  const run = (flags: string[] = [], more: CliOptions = {}) =>
    cli([...argv, '--receiver', 'alice.eth', '--base-url', api.url, ...flags], { ...options, env, ...more })
  const move = () => {
    node.records['alice.eth'] = { [POLYGON]: BOB }
  }
  return { run, move, bodies: (endpoint: string) => api.bodies(endpoint) as Record<string, unknown>[] }
}

const MINT = ['nft', 'mint', '--title', 'Dawn', '--description', 'x', ...TARGET]
const TRANSFER = ['nft', 'transfer', 'id-1', ...TARGET, '--token-id', '1', '--sender', BOB]
const LOST: Reply = { status: 500, body: { error: { title: 'Error', message: 'lost' } } }

test.each([
  ['createnft', MINT],
  ['transfernft', TRANSFER],
])('a repeated command whose %s has an unknown outcome sends nothing if its ENS name moved', async (endpoint, argv) => {
  const { run, move, bodies } = await single(argv, { [endpoint]: () => LOST })
  expect(await run()).toMatchObject({ code: 9 })
  move()
  expect((await run()).code).not.toBe(0)
  expect(bodies(endpoint)).toEqual([expect.objectContaining({ receiver_wallet_address: ALICE })])
  // With --again, the new address is meant.
  await run(['--again'])
  expect(bodies(endpoint)[1]).toMatchObject({ receiver_wallet_address: BOB })
})

const SUPPORTED = { [CAPABILITIES.names]: 'yes', [CAPABILITIES.idempotency]: 'yes' }
const GRANT = ['nft', 'grant', '--title', 'Dawn', '--description', 'x', '--sender', BOB, ...TARGET]

test.each([
  ['createnft', MINT],
  ['creatednft', [...MINT, '--dynamic']],
  ['createnfttrans', GRANT],
  ['transfernft', TRANSFER],
])('%s has the ENS name of its receiver only if the server supports names', async (endpoint, argv) => {
  const refusal: Reply = { status: 400, body: { error: { title: 'Bad Request', message: 'no' } } }
  for (const [headers, name] of [
    [SUPPORTED, 'alice.eth'],
    [{ [CAPABILITIES.idempotency]: 'yes' }, undefined],
  ] as const) {
    const { run, bodies } = await single(argv, { [endpoint]: () => refusal }, headers)
    await run()
    expect(bodies(endpoint)).toMatchObject([{ receiver_wallet_address: ALICE }])
    expect(bodies(endpoint)[0]?.receiver_name).toBe(name)
    expect(bodies(endpoint)[0]).not.toHaveProperty('sender_name')
  }
})

test('a request file sends its receiver_name, unless --receiver names another receiver', async () => {
  const { createnft, getnfts } = service()
  const { path, options } = await folder({})
  const [contract_address, blockchain] = [TARGET[1], TARGET[3]]
  const receiver = { receiver_wallet_address: ALICE, receiver_name: 'alice.eth' }
  const metadata = { title: 'Dawn', description: '', file_fields: [] }
  await writeFile(path('nft.json'), JSON.stringify({ contract_address, blockchain, ...receiver, metadata }))
  const api = await fakeApi({
    createnft: (body) => ({ ...createnft(body), headers: SUPPORTED }),
    getnfts,
    getisgdnnft: () => ({ status: 400, headers: SUPPORTED, body: {} }),
  })
  const mint = (...flags: string[]) =>
    cli(['nft', 'mint', '-f', path('nft.json'), '--base-url', api.url, ...flags], options)
  for (const flags of [[], ['--receiver', BOB]]) expect(await mint(...flags)).toMatchObject({ code: 0 })
  const bodies = api.bodies('createnft') as Record<string, unknown>[]
  expect(bodies.map((body) => [body.receiver_wallet_address, body.receiver_name])).toEqual([
    [ALICE, 'alice.eth'],
    [BOB, undefined],
  ])
})

test('a repeated command whose ENS name moved resumes its accepted request, and says which address it has', async () => {
  const { createnft, getnfts } = service()
  let isPending = true
  const { run, move, bodies } = await single(MINT, {
    createnft,
    getnfts(body) {
      const { requests, nfts } = getnfts(body).body as { requests: object; nfts: object[] }
      return isPending
        ? { body: { requests, nfts: nfts.map((one) => ({ ...one, status: 'initiated' })) } }
        : getnfts(body)
    },
  })
  expect(await run([], timeUpWhileWaiting())).toMatchObject({ code: 8 })
  move()
  isPending = false
  const resumed = await run()
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(resumed.stderr).toContain(`alice.eth had the address ${ALICE} when the request was sent.`)
  expect(bodies('createnft')).toHaveLength(1)
})
