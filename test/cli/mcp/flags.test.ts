import { expect, test } from 'vitest'
import { cli } from '../harness.ts'

const spending = ['--allow-writes', '--allow-spending']

test.each([
  [['--allow-spending', '--max-cost', '5POL'], /--allow-spending: requires --allow-writes/],
  [spending, /--max-cost: is required with --allow-spending/],
  [['--allow-writes', '--max-cost', '5POL'], /--max-cost: requires --allow-spending/],
  [[...spending, '--max-cost', '5'], /--max-cost: requires a currency/],
  [[...spending, '--max-cost', 'all'], /--max-cost: must be an amount/],
  [
    ['--toolsets', 'default,nft'],
    /--toolsets: must be one of default, nfts, runs, wallets, backend, config, all, not "nft"/,
  ],
  [['--toolsets', ''], /--toolsets: must be a comma-separated list/],
  [['--root', 'nowhere'], /--root: .*nowhere is not a directory/],
  [['--password-file', 'nowhere'], /nowhere: doesn't exist/],
])('gdn mcp rejects %j', async (flags, message) => {
  const { code, stdout, stderr } = await cli(['mcp', ...flags, '--no-input'])
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(message) })
})
