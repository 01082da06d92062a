/** @module-tag slow */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { listenLocally } from '../helpers/http-server.ts'
import { FOLDER, readDeployFile } from './folder.ts'

const SCRIPT = join(FOLDER, 'block-space.mjs')

/** A network node with a block every two seconds. */
async function network(gasLimit: number, gasUsed: number): Promise<string> {
  const hex = (value: number) => `0x${value.toString(16)}`
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
    const timestamp = hex(1_700_000_000 + 2 * Number(params[0] ?? 0))
    const block = { number: params[0], timestamp, gasLimit: hex(gasLimit), gasUsed: hex(gasUsed) }
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_blockNumber' ? '0x1000' : block }))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return url
}

test('prints how many NFTs fit into a network, from gas limit, block time and the gas already used', async () => {
  const { stdout } = await execa(process.execPath, [SCRIPT, await network(45_000_000, 15_000_000)])
  expect(stdout.split('\n')).toEqual([
    '100 blocks in 200 s: a gas limit of 22.50 million gas/s, of which 7.50 million gas/s are used',
    '  to one receiver, 50 together: 1261 NFTs/s in half of the free gas, enough for the peak of 10 million a day',
    '  to 50 receivers, together: 152 NFTs/s in half of the free gas, enough for the average of 10 million a day',
    '  one by one: 69 NFTs/s in half of the free gas, too little for the average of 10 million a day',
  ])
})

test('prints its usage without a URL', async () => {
  const { exitCode, stderr } = await execa(process.execPath, [SCRIPT], { reject: false })
  expect([exitCode, stderr]).toEqual([2, 'node block-space.mjs <rpc url>'])
})

test('uses the gas figures of the capacity page', () => {
  const gas = [...readDeployFile('block-space.mjs').matchAll(/: (\d{1,3}(?:_\d{3})+)[,\s]/g)].map(
    ([, number = '']) => number,
  )
  expect(gas.slice(0, 3)).toHaveLength(3)
  for (const number of gas.slice(0, 3)) expect(readDeployFile('capacity.md')).toContain(number.replaceAll('_', ','))
})
