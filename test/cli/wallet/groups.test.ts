import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { BOB } from '../../helpers/addresses.ts'
import { OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../harness.ts'

const OTHER = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'

let dir: string
let gdn: (...argv: string[]) => ReturnType<typeof cli>

beforeEach(async () => {
  const home = await tempHome()
  dir = home.dir
  const options: CliOptions = { cwd: home.dir, env: home.env }
  gdn = (...argv) => cli(argv, options)
  await writeFile(join(dir, 'contacts.csv'), `name,address\nalice,${OWNER}\nbob,${BOB}\n`)
  await gdn('wallet', 'add', '--from', join(dir, 'contacts.csv'))
})

const membersOf = async (group: string) => JSON.parse((await gdn('wallet', 'group', group, '--json')).stdout)

describe('gdn wallet group', () => {
  test('creates a group of names and addresses, shows it, replaces it and lists it', async () => {
    const created = await gdn('wallet', 'group', '@team', '@alice', OTHER.toLowerCase())
    expect(created).toMatchObject({ code: 0, stdout: '', stderr: 'The group @team has 2 members.\n' })
    expect(await membersOf('team')).toMatchObject([
      { name: 'alice', address: OWNER },
      { name: null, address: OTHER },
    ])
    const replaced = await gdn('wallet', 'group', 'team', '@bob', '@alice')
    expect(replaced.stderr).toBe(`The group @team has 2 members. Added: @bob. Removed: ${OTHER}.\n`)
    expect((await gdn('wallet', 'group', '@team', '-o', 'ids')).stdout).toBe(`${BOB}\n${OWNER}\n`)
    const list: object[] = JSON.parse((await gdn('wallet', 'list', '--json')).stdout)
    expect(list).toContainEqual(
      expect.objectContaining({ name: 'team', kind: 'group', address: null, members: ['@bob', '@alice'] }),
    )
    expect((await gdn('wallet', 'list')).stdout).toMatch(/@team\t\tgroup\t[-\d]+\t@bob @alice\n/)
  })

  test('adds and removes single members with --add and --remove', async () => {
    await gdn('wallet', 'group', '@team', '@alice', OTHER)
    const changed = await gdn('wallet', 'group', '@team', '--add', '@bob', '--remove', OTHER.toLowerCase())
    expect(changed.stderr).toBe(`The group @team has 2 members. Added: @bob. Removed: ${OTHER}.\n`)
    expect(await membersOf('team')).toMatchObject([{ name: 'alice' }, { name: 'bob' }])
    await gdn('wallet', 'rm', 'bob')
    expect(await gdn('wallet', 'group', '@team', '--remove', '@bob')).toMatchObject({ code: 0 })
    expect(await membersOf('team')).toMatchObject([{ name: 'alice' }])
  })

  test.each([
    ['a member that it has', ['--add', '@alice'], '--add: @alice is already a member', 'Remove one'],
    ['another name of a member', ['--add', OWNER], `--add: ${OWNER} has the same address as @alice`, 'Remove one'],
    ['an unknown name', ['--add', '@bbo'], '--add: @bbo is not the name', 'Did you mean @bob?'],
    [
      'a name that is no member',
      ['--remove', '@bob'],
      '--remove: "@bob" is not a member of @team',
      'to list the members',
    ],
    ['a member without @', ['--remove', 'alice'], '--remove: "alice" is not a member', 'Did you mean @alice?'],
    ['all members', ['--remove', '@alice'], '--remove: would remove all members', 'gdn wallet rm team'],
    ['all new members', ['@bob', '--add', '@bob'], "--add: can't be used with <member>", 'Use one of them.'],
  ])('refuses a change with %s, and keeps the group', async (_what, argv, message, hint) => {
    await gdn('wallet', 'group', '@team', '@alice')
    const refused = await gdn('wallet', 'group', '@team', ...argv, '--json')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(refused)).toMatchObject({
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    })
    expect(await membersOf('team')).toMatchObject([{ name: 'alice' }])
  })

  test('refuses to change a group that does not exist, and a change without a group', async () => {
    expect(errorOf(await gdn('wallet', 'group', '@team', '--add', '@bob', '--json')).code).toBe('not_found_locally')
    expect(errorOf(await gdn('wallet', 'group', '--add', '@bob', '--json')).message).toBe('<group>: is required')
  })

  test('lists all groups without a name', async () => {
    expect((await gdn('wallet', 'group')).stderr).toContain('There are no groups yet.')
    await gdn('wallet', 'group', '@team', '@alice', '@bob')
    await gdn('wallet', 'group', '@crew', OTHER)
    expect(JSON.parse((await gdn('wallet', 'group', '--json')).stdout)).toMatchObject([
      { name: 'crew', members: [OTHER] },
      { name: 'team', members: ['@alice', '@bob'] },
    ])
    expect((await gdn('wallet', 'group')).stdout).toContain('@team\t@alice @bob\n')
  })

  test('is deleted by wallet rm, which keeps the saved addresses', async () => {
    await gdn('wallet', 'group', '@team', '@alice')
    expect((await gdn('wallet', 'rm', '@team')).stderr).toContain('Deleted the group @team.')
    expect((await gdn('wallet', 'group', '@team')).code).toBe(2)
    expect((await gdn('wallet', 'list', '-o', 'ids')).stdout).toBe(`${OWNER}\n${BOB}\n`)
  })

  test('uses the current address of a member, and says if a member has none', async () => {
    await gdn('wallet', 'group', '@team', '@alice', '@bob')
    expect((await gdn('wallet', 'rm', 'bob')).stderr).toContain('@bob is still a member of @team.')
    expect(await membersOf('team')).toMatchObject([
      { name: 'alice' },
      { name: 'bob', address: null, error: expect.stringContaining('@bob is not the name') },
    ])
    await gdn('wallet', 'add', 'bob', OTHER)
    expect(await membersOf('team')).toMatchObject([{ name: 'alice' }, { name: 'bob', address: OTHER }])
  })

  test.each([
    ['an unknown member', ['@allice'], /^<member>: @allice is not the name/, 'Did you mean @alice?'],
    ['a name without @', ['alice'], /^<member>: "alice" /, 'Did you mean @alice?'],
    ['an invalid address', ['0x12'], /^<member>: "0x12" .*40 hex digits/, null],
    ['an empty member', [''], /^<member>: "" /, null],
    ['a control character', ['@a\u001b[31m'], /^<member>: the name of a wallet must /, null],
    ['a control character without @', ['a\u001b[31m'], /^<member>: "a\\u001b\[31m" /, null],
    ['the same member twice', ['@alice', '@bob', '@alice'], /^<member>: @alice is repeated$/, 'Remove one'],
    ['two names of an address', ['@alice', OWNER.toLowerCase()], /has the same address as @alice$/, 'Remove one'],
    ['a group', ['@friends'], /^<member>: @friends is a group, which can't be a member/, 'Use the members'],
    ['the group itself', ['@team'], /^<member>: @team is not the name of a wallet/, null],
  ])('refuses %s, and saves nothing', async (_what, members, message, hint) => {
    await gdn('wallet', 'group', '@friends', '@bob')
    const refused = await gdn('wallet', 'group', '@team', ...members, '--json')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(refused).message).toMatch(message)
    if (hint !== null) expect(errorOf(refused).hint).toContain(hint)
    expect((await gdn('wallet', 'group', '@team')).code).toBe(2)
  })

  test('suggests the nearest group for an unknown one, and names the kind of another name', async () => {
    expect(errorOf(await gdn('wallet', 'group', '@team', '--json'))).toMatchObject({
      code: 'not_found_locally',
      message: '<group>: @team is not the name of a group on this machine',
      hint: 'Run `gdn wallet group @team <member>...` to create the group.',
    })
    await gdn('wallet', 'group', '@team', '@bob')
    expect(errorOf(await gdn('wallet', 'group', '@taem', '--json')).hint).toBe('Did you mean @team?')
    expect(errorOf(await gdn('wallet', 'group', '@bob', '--json')).message).toContain('@bob is an address, not a group')
    expect(errorOf(await gdn('wallet', 'group', '@Team', '--json'))).toMatchObject({
      message: expect.stringContaining('the name of a group must'),
      hint: 'Use @team.',
    })
  })
})

describe('gdn wallet rename', () => {
  test('renames an address, also in its groups', async () => {
    await gdn('wallet', 'group', '@team', '@bob', '@alice')
    const renamed = await gdn('wallet', 'rename', '@bob', '@robert')
    expect(renamed).toMatchObject({ code: 0, stderr: 'Renamed @bob to @robert.\n' })
    expect(await membersOf('team')).toMatchObject([
      { name: 'robert', address: BOB },
      { name: 'alice', address: OWNER },
    ])
  })

  test.each([
    ['an unknown name', ['@bbo', '@robert'], '<name>: @bbo is not the name'],
    ['a group', ['@team', '@crew'], '<name>: @team is a group'],
    ['the name of another address', ['@bob', '@alice'], `@alice already exists: ${OWNER}`],
    ['the name of a group', ['@bob', '@team'], '@team already exists: a group'],
    ['an invalid name', ['@bob', '@Robert'], '<new-name>: the name of a wallet must'],
  ])('refuses %s, and renames nothing', async (_what, argv, message) => {
    await gdn('wallet', 'group', '@team', '@bob')
    const refused = await gdn('wallet', 'rename', ...argv, '--json')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(refused).message).toContain(message)
    expect(await membersOf('team')).toMatchObject([{ name: 'bob', address: BOB }])
  })
})

test('a group and an address never have the same name', async () => {
  await gdn('wallet', 'group', '@team', '@bob')
  expect(errorOf(await gdn('wallet', 'add', 'team', OWNER, '--json')).message).toBe('@team already exists: a group')
  expect(errorOf(await gdn('wallet', 'group', '@alice', '@bob', '--json')).message).toBe(
    `@alice already exists: ${OWNER}`,
  )
  await writeFile(join(dir, 'key'), `0x${'1'.repeat(64)}\n`, { mode: 0o600 })
  await writeFile(join(dir, 'password'), 'correct horse\n', { mode: 0o600 })
  const key = ['wallet', 'import', join(dir, 'key'), '--password-file', join(dir, 'password')]
  expect(errorOf(await gdn(...key, '--name', 'team', '--json')).message).toBe('@team already exists: a group')
  expect((await gdn(...key, '--name', 'minter')).code).toBe(0)
  expect(errorOf(await gdn('wallet', 'group', '@minter', '@bob', '--json')).message).toMatch(
    /^@minter already exists: \//,
  )
})

test('a group is refused where one address is needed, with the command that mints to each member', async () => {
  await gdn('wallet', 'group', '@team', '@bob')
  const mint = ['nft', 'mint', '--title', 'Dawn', '-c', OWNER, '-b', 'polygon', '--base-url', 'http://127.0.0.1:9']
  const refused = await gdn(...mint, '--receiver', '@team', '--json')
  expect(refused.code).toBe(2)
  expect(errorOf(refused)).toMatchObject({
    code: 'usage',
    message: '--receiver: @team is a group, not an address',
    hint: expect.stringContaining('`gdn batch mint <row.json> --to @team`'),
  })
})
