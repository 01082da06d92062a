/** @module-tag slow */
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMANDS, makeCommand } from '../../src/cli/catalogue.ts'
import type { Deps } from '../../src/cli/deps.ts'

const FOLDER = fileURLToPath(new URL('../../src/cli/commands', import.meta.url))

/** The file of a command: `nft show` is in `nft/show.ts`. */
const fileOf = (command: string) => `${command.replace(' ', '/')}.ts`

test('lists every command file in the catalogue', async () => {
  const commandFiles: string[] = []
  for (const file of await readdir(FOLDER, { recursive: true })) {
    if (!file.endsWith('.ts')) continue
    const text = await readFile(join(FOLDER, file), 'utf8')
    if (/^export (const|function) command\b/m.test(text)) commandFiles.push(file.split(sep).join('/'))
  }
  expect(commandFiles.sort()).toEqual(COMMANDS.map(({ command }) => fileOf(command)).sort())
})

test.each(COMMANDS)('loads gdn $command from the file of that name', async (verb) => {
  expect(await verb.load()).toBe(await import(join(FOLDER, fileOf(verb.command))))
})

test.each(COMMANDS)('takes the name and summary of gdn $command from the catalogue', async (verb) => {
  const command = await makeCommand(verb, {} as Deps)
  expect([command.name(), command.summary()]).toEqual([verb.command, verb.summary])
})
