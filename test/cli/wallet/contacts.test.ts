import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf, tempHome } from '../harness.ts'

const SOLANA = '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU'
const SENDER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'

async function machine() {
  const { dir, env } = await tempHome()
  const run = (argv: string[], options: CliOptions = {}) => cli(argv, { cwd: dir, env, ...options })
  const add = async (text: string, ...flags: string[]) => {
    const file = join(dir, 'contacts.csv')
    await writeFile(file, text)
    return await run(['wallet', 'add', '--from', file, ...flags])
  }
  const names = async () => {
    const { stdout } = await run(['wallet', 'list', '--json'])
    return Object.fromEntries(
      (JSON.parse(stdout) as { name: string; address: string }[]).map(({ name, address }) => [name, address]),
    )
  }
  return { run, add, names }
}

describe('wallet add --from', () => {
  test.each([
    ['commas', `name,address\nalice,${OWNER}\nbob,${SOLANA}\n`],
    [
      'semicolons, another order and case, and a byte order mark',
      `\uFEFFAddress;Name\r\n${OWNER};alice\r\n${SOLANA};bob`,
    ],
    [
      'names with @ or capitals, and addresses in lower case',
      `name,address\n@alice,${OWNER.toLowerCase()}\n"@Bob","${SOLANA}"\n`,
    ],
    ['two kinds of line endings', `name,address\r\nalice,${OWNER}\r\nbob,${SOLANA}\n`],
  ])('saves the names of a CSV file with %s', async (_, text) => {
    const { add, names } = await machine()
    const { code, stderr } = await add(text)
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('Saved 2 contacts.')
    expect(await names()).toEqual({ alice: OWNER, bob: SOLANA })
    // The same file again changes nothing.
    expect(await add(text)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Saved 0 contacts. Already saved: 2.'),
    })
    expect(await names()).toEqual({ alice: OWNER, bob: SOLANA })
  })

  test('reads standard input, and prints what it saved', async () => {
    const { run } = await machine()
    const { stdout } = await run(['wallet', 'add', '--from', '-', '--json'], { stdin: `name,address\nalice,${OWNER}` })
    expect(JSON.parse(stdout)).toEqual([{ name: 'alice', address: OWNER }])
  })

  test.each([
    [
      'an invalid name',
      `name,address\nbob,${SENDER}\nÉva Szabó,${OWNER}`,
      3,
      /^contacts.csv:3:1: name must /,
      'eva-szabo',
    ],
    ['a wrong address', `name,address\nbob,0x12`, 2, /^contacts.csv:2:2: address /, undefined],
    ['a missing address', `name,address\nbob,`, 2, /:2:2: address is required$/, undefined],
    ['a repeated name', `name,address\nbob,${OWNER}\nbob,${OWNER}`, 3, /the name bob is already on line 2$/, undefined],
    ['an unknown column', `name,address,mail\nbob,${OWNER},x`, 1, /:1:3: unknown column "mail"$/, 'groups'],
    ['a misspelled column', `name,adress\nbob,${OWNER}`, 1, /:1:2: unknown column "adress" \(and 1/, 'address'],
    ['no address column', `name\nbob`, undefined, /has no column address$/, undefined],
    ['an invalid group', `name,address,groups\nbob,${OWNER},team Böd`, 2, /:2:3: groups "Böd" must /, 'bod'],
    [
      'a control character in a group',
      `name,address,groups\nbob,${OWNER},te\u001bam`,
      2,
      /:2:3: groups "te\\u001bam" must /,
      'te-am',
    ],
    [
      'a group that is a contact',
      `name,address,groups\nbob,${OWNER},bob`,
      2,
      /:2:3 \(groups\): @bob already /,
      undefined,
    ],
    [
      'a group that is a saved address',
      `name,address,groups\nbob,${OWNER},taken`,
      2,
      /@taken already exists: 0x/,
      undefined,
    ],
    ['only a header', `name,address\n`, undefined, /has no contacts$/, undefined],
    [
      'a name that has another address',
      `name,address\neve,${OWNER}\ntaken,${OWNER}`,
      3,
      /@taken already exists/,
      undefined,
    ],
  ])('refuses a file with %s, and saves none of its names', async (_, text, line, message, like) => {
    const { run, add, names } = await machine()
    await run(['wallet', 'add', 'taken', SENDER])
    const refused = await add(text, '--json')
    const error = errorOf(refused)
    expect(error).toMatchObject({ code: 'invalid_input' })
    expect(error.message.replace(/^\S*(?=contacts.csv)/, '')).toMatch(message)
    if (line !== undefined)
      expect(error.details).toMatchObject({
        issues: expect.arrayContaining([expect.objectContaining({ place: expect.objectContaining({ line }) })]),
      })
    if (like !== undefined) expect(error.hint).toContain(like)
    expect(await names()).toEqual({ taken: SENDER })
  })

  test('reports all problems of a file at once, also those of saved names, and saves nothing', async () => {
    const { run, add, names } = await machine()
    await run(['wallet', 'add', 'taken', SENDER])
    const lines = ['name,adress,address,groups', `taken,,${OWNER},`, `É,,0x12,`, `bob,,${OWNER},Te@m`, `bob,,${OWNER},`]
    const { code, stderr } = await add(lines.join('\n'))
    expect(code).toBe(2)
    for (const where of ['1:2', '2:1', '3:1', '3:3', '4:4', '5:1']) expect(stderr).toContain(`contacts.csv:${where}`)
    expect(stderr).toContain('(and 5 more)')
    expect(stderr).toContain('Did you mean address?')
    expect(await names()).toEqual({ taken: SENDER })
  })

  test('adds the names to their groups, and keeps the members that a group had', async () => {
    const { run, add } = await machine()
    await add(`\uFEFFname;address;groups\r\nalice;${OWNER};team friends\r\nbob;${SOLANA};"@Team, friends"\r\n`)
    const { code, stderr } = await add(`name,address,groups\ncarol,${SENDER},team\nalice,${OWNER},team\n`)
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('Added to @team: @carol.\n')
    const { stdout } = await run(['wallet', 'group', 'team', '--json'])
    expect(JSON.parse(stdout).map((member: { name: string }) => member.name)).toEqual(['alice', 'bob', 'carol'])
    expect((await run(['wallet', 'group', '@friends', '-o', 'ids'])).stdout).toBe(`${OWNER}\n${SOLANA}\n`)
  })

  test('names the contacts that it adds to groups again, and says if members have the same address', async () => {
    const { run, add } = await machine()
    const text = `name,address,groups\nalice,${OWNER},"crew, friends"\nbob,${SENDER},crew\n`
    expect((await add(text)).stderr).toContain('Added to @crew: @alice, @bob.\nAdded to @friends: @alice.\n')
    await run(['wallet', 'group', '@crew', '@alice'])
    const secondResult = await add(`${text}robert,${SENDER},crew\n`)
    expect(secondResult.stderr).toContain('Added to @crew: @bob, @robert.\n')
    expect(secondResult.stderr).toContain('same address, which count as one: @robert (same as @bob).')
    expect(secondResult.stderr).not.toContain('@friends')
    expect((await add(text)).stderr).not.toContain('Added')
  })

  test('says how to change the address of a name', async () => {
    const { run, add } = await machine()
    await run(['wallet', 'add', 'alice', SENDER])
    const refused = errorOf(await add(`name,address\nalice,${OWNER}\n`, '--json'))
    expect(refused.hint).toBe('To change the address, run `gdn wallet rm @alice`, then run this command again.')
  })

  test('refuses a name next to a file, and a name without an address', async () => {
    const { run, add } = await machine()
    expect(errorOf(await add(`name,address\nalice,${OWNER}`, 'bob', '--json')).message).toContain('--from')
    expect(errorOf(await run(['wallet', 'add', 'bob', '--json'])).message).toContain('<address>: is required')
    expect(errorOf(await run(['wallet', 'add', '--json'])).message).toContain('<name>: is required')
    const missing = errorOf(await run(['wallet', 'add', '--from', 'none.csv', '--json']))
    expect(missing).toMatchObject({
      message: "none.csv: doesn't exist",
      hint: expect.stringContaining('Check the path'),
    })
  })
})
