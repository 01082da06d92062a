import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { chainIdOf, KNOWN_NAMES } from '../../../src/api/blockchains.ts'
import { findRetirement } from '../../../src/api/retired.ts'
import { OUTPUT_MODES } from '../../../src/cli/flags/common.ts'
import { readTopic } from '../../../src/cli/help/topic.ts'
import { HELP_TOPICS } from '../../../src/cli/help/topics.ts'
import { ENVIRONMENT_VARIABLES } from '../../../src/config/environment.ts'
import { EXIT_BY_CODE } from '../../../src/core/errors.ts'
import { EXIT } from '../../../src/core/exit-codes.ts'
import { COLUMN_NAMES } from '../../../src/manifest/columns.ts'
import { cli } from '../harness.ts'

const src = fileURLToPath(new URL('../../../src/', import.meta.url))

/** Every GDN_ variable in the sources, except in the build, in tests, and in the table under test. */
async function variablesInSources(): Promise<Set<string>> {
  const names = await readdir(src, { recursive: true })
  const files = names.filter(
    (name) => name.endsWith('.ts') && !name.startsWith('build') && !name.endsWith('environment.ts'),
  )
  const texts = await Promise.all(files.map((name) => readFile(join(src, name), 'utf8')))
  // Excludes __GDN_VERSION__, which the build replaces, and the code of an error inside the server.
  const found = texts.flatMap((text) => text.match(/(?<![A-Z_])GDN_[A-Z_]*[A-Z]\b(?!_)/g) ?? [])
  return new Set(found.filter((name) => name !== 'GDN_BROKEN_BODY' && !name.startsWith('GDN_TEST_')))
}

const topic = async (...words: string[]) => (await cli(['help', ...words], { columns: 120 })).stdout

describe.each(HELP_TOPICS.map(({ name, summary }) => [name, summary] as const))(
  'the help topic %s',
  (name, summary) => {
    test('shows examples first', async () => {
      const { code, stdout, stderr } = await cli(['help', name])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout.match(/^[A-Z].*$/gm)?.find((line) => line === line.toUpperCase())).toBe('EXAMPLES')
      expect(stdout).toContain('\n  $ ')
    })

    test('is listed with its summary in gdn --help', async () => {
      expect((await cli(['--help'], { columns: 100 })).stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'))
    })
  },
)

describe('topics keep what their pages contain', () => {
  test.each(HELP_TOPICS)('$name has something after every paragraph that ends with a colon', async ({ page }) => {
    const { sections } = await readTopic(page)
    for (const { blocks } of sections) {
      for (const [i, block] of blocks.entries()) {
        if (!('text' in block && block.text.endsWith(':'))) continue
        const next = blocks[i + 1]
        expect(next !== undefined && (!('text' in next) || next.text.startsWith('- ')), block.text).toBe(true)
      }
    }
  })

  test('shows code of any language, the heads of tables, and where links lead', async () => {
    expect(await topic('environment')).toContain('    "$schema": "./config.schema.json",\n')
    expect(await topic('environment')).toContain('    # yaml-language-server: $schema=backend.schema.json\n')
    expect(await topic('manifest')).toContain('    "unknown_columns": "attr"\n')
    const chains = await topic('blockchains')
    expect(chains).toMatch(
      /^ {2}Transfer through the API +EVM networks: in collections with --enable-transfer\n +Solana: no; --enable-transfer has no effect$/m,
    )
    expect(chains).toMatch(/^ {2}Blockchain +Server$/m)
    expect(await topic('security')).toMatch(/remote\s+signer\s+\(docs\/public-networks\.md\)/)
    expect(await topic('manifest')).toMatch(/project\s+file\s+\(gdn\s+help\s+environment\)/)
  })
})

describe('topics match the code', () => {
  test('environment lists exactly the variables that the sources read', async () => {
    const names = ENVIRONMENT_VARIABLES.map(({ name }) => name)
    expect([...(await variablesInSources())].sort()).toEqual([...names].sort())
    const page = await topic('environment')
    for (const name of names) expect(page).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  test('exit-codes lists every exit code, and every value of error.code', async () => {
    const page = await topic('exit-codes')
    for (const code of Object.values(EXIT)) expect(page).toMatch(new RegExp(`^  ${code} +\\S`, 'm'))
    for (const word of Object.keys(EXIT_BY_CODE)) expect(page).toMatch(new RegExp(`\\b${word}\\b`))
  })

  test('manifest lists every column', async () => {
    const page = await topic('manifest')
    for (const name of COLUMN_NAMES) expect(page).toMatch(new RegExp(`^  ${name}`, 'm'))
  })

  test('output lists every mode', async () => {
    const page = await topic('output')
    for (const mode of OUTPUT_MODES) expect(page).toMatch(new RegExp(`^  ${mode} `, 'm'))
  })

  test('blockchains lists every blockchain with its chain ID', async () => {
    const page = await topic('blockchains')
    for (const name of KNOWN_NAMES) {
      expect(page).toMatch(new RegExp(`^  ${name} +.*${chainIdOf(name) ?? 'Solana'}`, 'm'))
      const retired = findRetirement(name)
      if (retired === null) continue
      expect(page).toMatch(new RegExp(`^  ${name} +.*${retired.successor}`, 'm'))
      expect(page).toMatch(new RegExp(`^  ${name} +.*${retired.since}`, 'm'))
    }
  })
})

describe('finding a topic', () => {
  test.each([
    [['help', 'exit', 'codes']],
    [['help', 'Exit-Codes']],
    [['exit-codes', '--help']],
    [['exit', 'codes', '-h']],
  ])('gdn %j prints gdn help exit-codes', async (argv) => {
    expect(await cli(argv)).toMatchObject({ code: 0, stdout: await topic80('exit-codes') })
  })

  test('suggests gdn help for a topic used as a command', async () => {
    const { code, stdout, stderr } = await cli(['manifest'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Did you mean gdn help manifest?')
  })

  test('gdn help local prints the topic; gdn local --help lists the commands and names the topic', async () => {
    expect(await topic('local')).toContain('ADDRESS AND DATA')
    const { stdout } = await cli(['local', '--help'])
    expect(stdout).toContain('COMMANDS')
    expect(stdout).toContain('gdn help local')
  })
})

const topic80 = async (name: string) => (await cli(['help', name], { columns: 80 })).stdout

describe('finding help', () => {
  test.each([
    [['-h', 'nft', 'mint']],
    [['--help', 'nft', 'mint']],
    [['nft', '-h', 'mint']],
    [['nft', 'help', 'mint']],
    [['nft', 'mint', '-h']],
    [['--debug', 'nft', 'mint', '--help']],
    [['help', 'nft', 'mint', '--no-color']],
  ])('gdn %j prints gdn help nft mint', async (argv) => {
    expect(await cli(argv)).toMatchObject({ code: 0, stdout: (await cli(['help', 'nft', 'mint'])).stdout })
  })

  test('links to a documentation file that exists', async () => {
    const link = /^ {2}(\/.*README\.md)$/m.exec((await cli(['--help'])).stdout)?.[1] ?? ''
    expect(await readFile(link, 'utf8')).toContain('# gdn')
  })
})
