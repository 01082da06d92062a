import { tmpdir } from 'node:os'
import { beforeAll, describe, expect, test } from 'vitest'
import type { CommandTree } from '../../../src/cli/command-tree.ts'
import { checkArguments } from '../../../src/cli/mcp/tool-arguments.ts'
import { Toolbox } from '../../../src/cli/mcp/toolbox.ts'
import { cli } from '../harness.ts'

let toolbox: Toolbox

beforeAll(async () => {
  const tree: CommandTree = JSON.parse((await cli(['help', '--json'], { env: { HOME: tmpdir() } })).stdout)
  toolbox = new Toolbox(tree.commands, { allowWrites: true, passwordFile: null, toolsets: ['all'] })
})

describe('the arguments of a tool', () => {
  test('may have a single string for a list of one', () => {
    expect(checkArguments(toolbox.find('nft_show'), { nft_gdn_id: 'a' })).toEqual({ nft_gdn_id: ['a'] })
    expect(checkArguments(toolbox.find('nft_show'), { nft_gdn_id: ['a', 'b'] })).toEqual({ nft_gdn_id: ['a', 'b'] })
    expect(checkArguments(toolbox.find('nft_transfer'), { nft_gdn_id: 'a' })).toEqual({ nft_gdn_id: 'a' })
  })

  test.each([
    ['nft_transfer', { nft_gdn_id: ['a'] }, 'nft_gdn_id must be string', 'Pass nft_gdn_id as one string.'],
    ['nft_show', { nft_gdn_id: 7 }, 'nft_gdn_id must be array', 'Pass nft_gdn_id as a list of strings.'],
    ['nft_show', { nft_gdn_id: [7] }, 'nft_gdn_id/0 must be string', 'Pass nft_gdn_id as a list of strings.'],
    ['nft_list', { limit: 'ten' }, 'limit must be integer', 'Pass limit as a whole number.'],
    ['nft_history', {}, "must have required property 'nft_gdn_id'", undefined],
  ])('of another type are rejected with what to pass: %s %j', (name, values, message, hint) => {
    expect(() => checkArguments(toolbox.find(name), values)).toThrow(
      expect.objectContaining({ code: 'usage', message, hint }),
    )
  })
})
