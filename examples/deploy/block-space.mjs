// Estimates from its newest blocks how many NFTs fit into a network: node block-space.mjs <rpc url>
const BLOCKS = 100
/** Share of the free gas that a plan may use. */
const SHARE = 0.5
/** Gas per NFT, measured by `npm run bench -- gas`. */
const SHAPES = { 'to one receiver, 50 together': 5_947, 'to 50 receivers, together': 49_197, 'one by one': 109_091 }
const DAY = 10_000_000 / 86_400

const say = (line) => process.stdout.write(`${line}\n`)
const printError = (line) => process.stderr.write(`${line}\n`)

const [url] = process.argv.slice(2)
if (url === undefined) {
  printError('node block-space.mjs <rpc url>')
  process.exit(2)
}

async function call(method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = await answer.json()
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

const blockAt = (number) => call('eth_getBlockByNumber', `0x${number.toString(16)}`, false)
const head = Number(await call('eth_blockNumber'))
const first = Math.max(1, head - BLOCKS)
const blocks = []
for (let number = first; number <= head; number++) blocks.push(await blockAt(number))

const [oldest, newest] = [blocks[0], blocks.at(-1)]
const seconds = Math.max(1, Number(newest.timestamp) - Number(oldest.timestamp))
const sum = (of) => blocks.slice(1).reduce((total, block) => total + Number(block[of]), 0) / seconds
const [room, used] = [sum('gasLimit'), sum('gasUsed')]
const million = (gas) => `${(gas / 1e6).toFixed(2)} million gas/s`
say(`${blocks.length - 1} blocks in ${seconds} s: a gas limit of ${million(room)}, of which ${million(used)} are used`)
for (const [shape, gas] of Object.entries(SHAPES)) {
  const rate = (SHARE * (room - used)) / gas
  const enough =
    rate >= 3 * DAY ? 'enough for the peak' : rate >= DAY ? 'enough for the average' : 'too little for the average'
  say(`  ${shape}: ${rate.toFixed(0)} NFTs/s in half of the free gas, ${enough} of 10 million a day`)
}
