import { expect, test } from 'vitest'
import { CONTRACT, DATE, fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const OTHER = `0x${'2'.repeat(40)}`

/** A machine that created collections: their names, blockchains and addresses. */
async function machine(...collections: [name: string, blockchain: string, contract_address: string | null][]) {
  let n = 0
  const recordOf = (transaction_gdn_ids: string) => {
    const [name, blockchain, contract_address] = collections[Number(transaction_gdn_ids.slice(3))] ?? []
    const status = contract_address === null ? 'initiated' : 'deployed'
    return { transaction_gdn_ids, contract_address, name, blockchain, wallet_address: OWNER, status }
  }
  const lists: { contract_addresses: unknown }[] = []
  const api = await fakeApi({
    '*': (request: never, { path }) => {
      const { transaction_gdn_ids: ids } = request as { transaction_gdn_ids: string[] }
      if (path.endsWith('/getcollections')) return { body: { requests: request, collections: ids.map(recordOf) } }
      if (path.endsWith('/createcollection'))
        return { body: { request, response: { transaction_gdn_id: `id-${n}`, accepted_date: DATE } } }
      if (!path.endsWith('/getnftgdnids')) return { status: 404, body: {} }
      lists.push(request)
      return { body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] } }
    },
  })
  const { env } = await tempHome()
  const options = { env: { ...env, GDN_API_KEY: 'key' } }
  for (const [name, blockchain, address] of collections) {
    const create = ['collection', 'create', '--name', name, '-b', blockchain, '--wallet', OWNER]
    await cli([...create, ...(address === null ? ['--no-wait'] : []), '--base-url', api.url], options)
    n++
  }
  const run = (...argv: string[]) => cli([...argv, '--base-url', api.url, '--json'], options)
  return { run, lists, other: async () => await fakeApi({}), options }
}

test.each(['Tidal Hours', 'tidal hours', ' Tidal Hours'])('-c %j is the collection Tidal Hours', async (name) => {
  const { run, lists } = await machine(['Dawn', 'polygon', OTHER], ['Tidal Hours', 'polygon', CONTRACT])
  const { code, stderr } = await run('nft', 'list', '-c', name)
  expect(code, stderr).toBe(0)
  expect(lists.at(-1)).toMatchObject({ contract_addresses: CONTRACT })
  const showResult = await run('collection', 'show', name.trim())
  expect(JSON.parse(showResult.stdout)).toMatchObject({ contract_address: CONTRACT })
})

test('a name of several collections is refused with their addresses, unless one has exactly this name', async () => {
  const { run, lists } = await machine(['Dawn', 'polygon', OTHER], ['Dawn', 'ethereum', CONTRACT])
  const refused = errorOf(await run('nft', 'list', '-c', 'dawn'))
  expect(refused).toMatchObject({ code: 'usage', message: '--contract: 2 collections are named "dawn"' })
  expect(refused.hint).toContain(`${OTHER} on polygon`)
  expect(refused.hint).toContain(`${CONTRACT} on ethereum`)
  expect(lists).toEqual([])
  expect(await run('nft', 'list', '-c', 'Dawn', '-b', 'ethereum')).toMatchObject({ code: 0 })
  expect(lists.at(-1)).toMatchObject({ contract_addresses: CONTRACT })
  const cased = await machine(['dawn', 'polygon', OTHER], ['Dawn', 'polygon', CONTRACT])
  expect(await cased.run('nft', 'list', '-c', 'dawn')).toMatchObject({ code: 0 })
  expect(cased.lists.at(-1)).toMatchObject({ contract_addresses: OTHER })
})

test('an unknown name is refused with the nearest one', async () => {
  const { run } = await machine(['Tidal Hours', 'polygon', CONTRACT])
  expect(errorOf(await run('nft', 'list', '-c', 'Tidal Hour'))).toMatchObject({
    code: 'usage',
    message:
      '--contract: "Tidal Hour" is neither an address nor the name of a collection that was created on this machine',
    hint: expect.stringContaining('Did you mean "Tidal Hours"?'),
  })
})

test('a collection that is not deployed yet is refused', async () => {
  const { run } = await machine(['Tidal Hours', 'polygon', null])
  expect(errorOf(await run('nft', 'list', '-c', 'Tidal Hours'))).toMatchObject({
    code: 'usage',
    message: '--contract: the collection "Tidal Hours" is not deployed yet',
  })
})

test('names of collections on another server are unknown', async () => {
  const { options, other } = await machine(['Tidal Hours', 'polygon', CONTRACT])
  const { url } = await other()
  const argv = ['nft', 'list', '-c', 'Tidal Hours', '-b', 'polygon', '--base-url', url, '--json']
  expect(errorOf(await cli(argv, options)).message).toContain('neither an address nor the name')
})

test('a name of a collection on another blockchain is refused with that blockchain', async () => {
  const { run } = await machine(['Two', 'polygon', CONTRACT])
  expect(errorOf(await run('nft', 'list', '-c', 'two', '-b', 'base'))).toMatchObject({
    code: 'usage',
    message: '--contract: the collection "Two" is on polygon, not on base',
  })
})

test('what may be a private key is refused without being printed', async () => {
  const { run } = await machine()
  const key = `0x${'5e'.repeat(32)}`
  for (const argv of [
    ['nft', 'list', '-c', key, '-b', 'polygon'],
    ['nft', 'mint', '--title', 'Dawn', '--receiver', key, '-c', CONTRACT, '-b', 'polygon'],
    ['nft', 'mint', '--title', 'Dawn', '--receiver', key.slice(2), '-c', CONTRACT, '-b', 'polygon'],
    ['batch', 'validate', 'drop.csv', '--receiver', key, '-b', 'polygon'],
  ]) {
    const { code, stdout, stderr } = await run(...argv)
    expect(code, stderr).toBe(2)
    expect(stdout + stderr).toContain('the length of a private key')
    expect(stdout + stderr).not.toContain('5e5e5e')
  }
})
