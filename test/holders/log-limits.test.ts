import { expect, test } from 'vitest'
import { classifyLogError } from '../../src/holders/log-limits.ts'

/** Errors of eth_getLogs as the providers and nodes return them. */
test.each([
  [
    'Alchemy',
    'results',
    -32_602,
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x79bcb3]',
  ],
  [
    'Alchemy, free',
    'blocks',
    -32_600,
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.',
  ],
  [
    'Alchemy, slow',
    'time',
    -32_000,
    'Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0x5223c98, 0x5223e80]',
  ],
  [
    'Infura',
    'results',
    -32_005,
    'query returned more than 10000 results. Try with this block range [0x3F7D4A, 0x3F7E60].',
  ],
  ['QuickNode', 'blocks', -32_614, 'eth_getLogs is limited to a 10,000 range'],
  ['Ankr', 'blocks', -32_000, 'block range is too wide'],
  [
    'Cloudflare',
    'blocks',
    -32_047,
    "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
  ],
  ['drpc', 'blocks', 35, 'ranges over 10000 blocks are not supported on freetier'],
  ['Avalanche', 'blocks', -32_000, 'requested too many blocks from 0 to 5000000, maximum is set to 2048'],
  [
    'Chainstack',
    'blocks',
    -32_602,
    'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
  ],
  ['PublicNode', 'blocks', -32_701, 'exceed maximum block range: 50000'],
  ['BSC', 'blocks', -32_005, 'limit exceeded'],
  ['reth', 'results', -32_602, 'query exceeds max results 20000, retry with the range 24383075-24383077'],
  ['reth, blocks', 'blocks', -32_602, 'query exceeds max block range 100000'],
  ['OP proxyd', 'results', -32_020, 'backend response too large'],
  ['geth, slow', 'time', -32_000, 'context deadline exceeded'],
  ['geth, pruned', 'pruned', 4444, 'pruned history unavailable'],
  ['a node that prunes', 'pruned', -32_000, 'missing block receipts: the node is not an archive node'],
  ['a rate limit', 'rate', 429, 'Your app has exceeded its compute units per second capacity.'],
  ['Infura, rate', 'rate', -32_005, 'daily request count exceeded, request rate limited'],
  ['QuickNode, rate', 'rate', -32_007, '50/second request limit reached - reduce calls per second or upgrade'],
  ['dRPC, rate', 'rate', 15, 'Too many request, try again later'],
  ['Chainstack, rate', 'rate', -32_000, "You've exceeded the RPS limit available on the current plan."],
  ['Infura, blocks', 'blocks', -32_602, 'range 1000000 exceeds limit of 10000'],
  ['Scroll', 'blocks', -32_000, 'block range is bigger than maxBlockRange'],
  ['Blast', 'blocks', -32_600, 'exceeds the range allowed for your plan (5000 > 2000)'],
  ['Harmony', 'results', -32_000, 'query must be smaller than size 1024'],
  ['geth, behind', 'behind', -32_602, 'block range extends beyond current head block'],
  [
    'erigon, behind',
    'behind',
    -32_000,
    'requested block range [4096, 8192] is beyond latest executed block 4000 (node is still syncing)',
  ],
  [
    'Nethermind, behind',
    'behind',
    -32_001,
    'One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.',
  ],
  ['anvil, behind', 'behind', -32_602, 'BlockOutOfRangeError: block height is 214 but requested was 217'],
  ['anything else', 'other', -32_000, 'execution reverted'],
])('recognizes the error of %s', (_who, problem, code, message) => {
  expect(classifyLogError({ code, message })).toBe(problem)
})
