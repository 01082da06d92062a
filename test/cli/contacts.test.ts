import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { OWNER } from './fake-api.ts'
import { type CliOptions, cli, errorOf, tempHome } from './harness.ts'

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
      stderr: expect.stringContaining('Saved 0 contacts. 2 were saved before.'),
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
    ['an unknown column', `name,address,mail\nbob,${OWNER},x`, 1, /:1:3: unknown column "mail"$/, undefined],
    ['no address column', `name\nbob`, undefined, /has no column address$/, undefined],
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
    if (line !== undefined) expect(error.details).toMatchObject({ place: { line } })
    if (like !== undefined) expect(error.hint).toContain(`Use ${like}.`)
    expect(await names()).toEqual({ taken: SENDER })
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
