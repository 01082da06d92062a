/** @module-tag slow */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findErrorCodeSection, searchHelp } from '../../../src/cli/help/search.ts'
import { searchText } from '../../../src/cli/help/search-text.ts'
import { readSections, sectionName } from '../../../src/cli/help/sections.ts'
import { HELP_TOPICS } from '../../../src/cli/help/topics.ts'
import { findExplanation, sectionUrl } from '../../../src/cli/render/docs-site.ts'
import { displayWidth } from '../../../src/cli/text/display-width.ts'
import { type ErrorCode, EXIT_BY_CODE } from '../../../src/core/errors.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { cli, errorOf } from '../harness.ts'

const CODES = Object.keys(EXIT_BY_CODE) as ErrorCode[]

const namesOf = async (question: string) =>
  (await searchHelp(question.split(' '))).map(({ page, heading }) => `${page}: ${heading}`)

/** Creates a folder with pages. */
async function folderWith(pages: Readonly<Record<string, string>>): Promise<string> {
  const docs = await temporaryFolder('gdn-docs-')
  for (const [name, text] of Object.entries(pages)) {
    await mkdir(join(docs, name, '..'), { recursive: true })
    await writeFile(join(docs, name), text)
  }
  return docs
}

describe('the best section', () => {
  test.each([
    ['stuck nonce', 'troubleshooting.md: A transaction is stuck, or a nonce is missing'],
    ['I minted to the wrong address', 'troubleshooting.md: A mint was a mistake'],
    ['my wifi went down while minting what now', 'troubleshooting.md: A command got no response'],
    ['somebody stole my api key', "troubleshooting.md: The API key isn't accepted"],
    ['how do I give the same picture to 500 people', 'cookbook.md: Editions of one image'],
    ['wrong nonce', 'troubleshooting.md: A transaction is stuck, or a nonce is missing'],
    ['my script died in the middle', 'troubleshooting.md: My script died in the middle'],
    ['NFT stays pending', 'troubleshooting.md: An NFT stays pending'],
    ['429 too many requests', 'troubleshooting.md: The server returns 429'],
    ['api key not accepted', "troubleshooting.md: The API key isn't accepted"],
    ['a row was edited', 'troubleshooting.md: A row was edited after the mint'],
    ['database locked', 'troubleshooting.md: The database is locked'],
    ["images don't load", "troubleshooting.md: Images don't load"],
    ['prompt in CI hangs', 'troubleshooting.md: A job in CI hangs'],
    ['how to retry failed rows', 'drops.md: Failed rows'],
    ['limit the cost', 'drops.md: Limit the cost'],
    ['public networks', 'public-networks.md: Use public networks'],
    ['my run was killed', 'troubleshooting.md: My script died in the middle'],
    ['ctrl-c', 'troubleshooting.md: My script died in the middle'],
    ['nft pending forever', 'troubleshooting.md: An NFT stays pending'],
    ['out of gas', 'troubleshooting.md: The signer has no funds for gas'],
    ['image does not show on opensea', "troubleshooting.md: Images don't load"],
    ['change a trait after mint', 'plan-and-apply.md: Fix a typo'],
    ['hide metadata until launch', 'reveal.md: Reveal NFTs later'],
    ['delayed reveal', 'reveal.md: Mint unrevealed'],
    ['mint to a list of receivers', 'airdrops.md: Mint to a list of receivers'],
    ['send nft to someone', 'collections.md: List, verify and transfer NFTs'],
    ['how do I add an image?', 'manifest.md: Images and other local files'],
    ['what is a run', 'glossary.md: Files and commands'],
    ['connection refused', "troubleshooting.md: The server can't be reached"],
    ['ECONNREFUSED', "troubleshooting.md: The server can't be reached"],
    ['ECONNRESET', "troubleshooting.md: The server can't be reached"],
    ['connect ECONNREFUSED 127.0.0.1:4680', "troubleshooting.md: The server can't be reached"],
    ['cannot connect to server', "troubleshooting.md: The server can't be reached"],
    ['too many requests', 'troubleshooting.md: The server returns 429'],
    ['EADDRINUSE', 'errors.md: port_in_use'],
    ['port is already used', 'errors.md: port_in_use'],
    ['address already in use', 'errors.md: port_in_use'],
    ['wallet ran out of ether', 'troubleshooting.md: The signer has no funds for gas'],
    ['laptop died where is my progress', 'troubleshooting.md: My script died in the middle'],
    ['half of my nfts are missing after crash', 'troubleshooting.md: My script died in the middle'],
    ['I closed my laptop during the drop', 'troubleshooting.md: My script died in the middle'],
    ['give every holder a free nft', 'cookbook-people.md: Airdrop to a list of holders'],
    ['pictures are broken on opensea', "troubleshooting.md: Images don't load"],
    ['resume on a different computer', 'cookbook-operations.md: Move to another machine'],
    ['webhook signature in python', 'webhooks-reference.md: Example in Python'],
    ['use it from python', 'api.md: Use gdn from Python'],
    ['how to undo a mint', 'troubleshooting.md: A mint was a mistake'],
    ['rollback', 'troubleshooting.md: A mint was a mistake'],
    ['refund', 'troubleshooting.md: A mint was a mistake'],
    ['duplicate nfts', 'troubleshooting.md: Rows were minted twice'],
    ['stop people from selling', "cookbook-people.md: Certificates that can't be transferred"],
    ['drops.md', 'drops.md: Mint a drop'],
    ['docs/drops.md', 'drops.md: Mint a drop'],
    ['docs/drops.md#failed-rows', 'drops.md: Failed rows'],
  ])('for "%s" is %s', async (question, section) => {
    expect((await namesOf(question))[0]).toBe(section)
  })

  test.each([
    ['transfer not permitted', 'troubleshooting.md: A transfer or an update is rejected'],
    ['seems minted already', 'troubleshooting.md: Rows seem minted already'],
  ])('for "%s" is among three: %s', async (question, section) => {
    expect(await namesOf(question)).toContain(section)
  })

  test('for a task is that of a command', async () => {
    const found = await searchHelp(['burn', 'an', 'NFT'])
    expect(found.map(({ heading }) => heading)).toContain('gdn nft burn')
  })

  test('for a heading is the section with that heading', async () => {
    const sections = (await readSections()).filter(
      ({ page, anchor }) => ['errors.md', 'troubleshooting.md'].includes(page) && anchor !== '',
    )
    expect(sections.length).toBeGreaterThan(40)
    for (const { page, heading } of sections) {
      expect((await namesOf(heading))[0]).toBe(`${page}: ${heading}`)
    }
  })

  test('counts the symptoms of a section like its heading', async () => {
    const zebra = '# Zebra\n\n## Stripes\n\nSymptoms: too many spots, `EZEBRA`. Paint over them.\n'
    const often = `# Other\n\n${'A spot is not a stripe. '.repeat(20)}\n`
    const docs = await folderWith({ 'zebra.md': zebra, 'other.md': often })
    for (const question of ['too many spots', 'ezebra unheardof']) {
      expect((await searchHelp(question.split(' '), docs))[0]?.heading).toBe('Stripes')
    }
  })

  test('is on a page that was added, in any folder except that of the site', async () => {
    const text = '# Zebra\n\nHow to stripe.\n\n```sh\n# not a heading\n```\n\n## Paint stripes\n\nUse a brush.\n'
    const docs = await folderWith({
      'recipes/zebra.md': text,
      'site/zebra.md': text,
      'other.md': '# Other\n\nNothing.\n',
    })
    const found = await searchHelp(['painting', 'stripes'], docs)
    expect(found.map(({ page, anchor, excerpt }) => ({ page, anchor, excerpt }))).toEqual([
      { page: 'recipes/zebra.md', anchor: 'paint-stripes', excerpt: 'Use a brush.' },
      { page: 'recipes/zebra.md', anchor: '', excerpt: 'How to stripe.' },
    ])
  })
})

describe('error codes', () => {
  test('each has a section on the page of errors', async () => {
    const sections = await readSections()
    const missing = CODES.filter((code) => findErrorCodeSection(sections, code) === undefined)
    expect(missing).toEqual([])
  })

  test('each section and row is of a code that exists', async () => {
    const sections = (await readSections()).filter(({ page, anchor }) => page === 'errors.md' && anchor !== '')
    const [table, ...others] = sections
    const inTable = [...(table?.markdown.matchAll(/^\| (`.*?`) \|/gm) ?? [])].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code),
    )
    expect([...others.map(({ heading }) => heading), ...inTable].sort()).toEqual([...CODES].sort())
  })

  test('each that an error refers to has a heading of its own, so that the anchor is the code', async () => {
    const anchors = (await readSections()).filter(({ page }) => page === 'errors.md').map(({ anchor }) => anchor)
    const referred = CODES.filter((code) => findExplanation(code) !== null)
    expect(referred.length).toBeGreaterThan(15)
    expect(referred.filter((code) => !anchors.includes(code))).toEqual([])
  })

  test.each(['seems_minted', 'SEEMS_MINTED', 'seems-minted', 'usage'])(
    'gdn help %s prints its section',
    async (code) => {
      const { code: exit, stdout } = await cli(['help', code])
      expect(exit).toBe(0)
      expect(stdout).toMatch(/^SECTIONS\n {2}Errors › /m)
      expect(stdout).toContain(code.toLowerCase().replace('-', '_'))
    },
  )

  test('an error refers to its section, unless its message and hint are enough', async () => {
    const offline = await cli(['nft', 'show', 'x', '--base-url', 'http://127.0.0.1:9'], { env: { GDN_API_KEY: 'k' } })
    expect(offline.stderr.split('\n').slice(-2)).toEqual(['  See: gdn help unreachable', ''])
    expect((await cli(['nft', 'shw'])).stderr).not.toContain('See:')
  })

  test('an error in JSON has no such field', async () => {
    const error = errorOf(await cli(['nft', 'show', 'x', '--base-url', 'http://127.0.0.1:9', '--json']))
    expect(Object.keys(error)).toEqual(['code', 'message', 'hint', 'details'])
  })

  test('are explained on the site once it has an address', () => {
    expect(findExplanation('run_busy', 'https://docs.example')).toBe('https://docs.example/errors.html#run_busy')
    expect(findExplanation('usage', 'https://docs.example')).toBeNull()
    expect(sectionUrl('commands/README.md', '', 'https://docs.example')).toBe('https://docs.example/commands/')
    expect(sectionUrl('drops.md', 'state', '')).toBeNull()
  })
})

describe('gdn help <words>', () => {
  test('lists three sections with an excerpt, and prints the best one and its place', async () => {
    const { code, stdout, stderr } = await cli(['help', 'stuck', 'nonce'], { columns: 80 })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/^ {2}\S.*\n {4}\S.*$/gm)?.slice(0, 3)).toHaveLength(3)
    expect(stdout).toContain('\nTROUBLESHOOTING › A TRANSACTION IS STUCK, OR A NONCE IS MISSING\n')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('To raise the fees now, use gdn tx bump.')
    const path = /^ {2}(\/.*\/docs\/troubleshooting\.md)#a-transaction-is-stuck-or-a-nonce-is-missing$/m.exec(
      stdout,
    )?.[1]
    expect(existsSync(path ?? '')).toBe(true)
  })

  test('names how to show another section, and shows it first', async () => {
    const { stdout } = await cli(['help', 'my', 'run', 'was', 'killed'], { columns: 200 })
    const name = /^To show another section, use its name: gdn help "(.*)"$/m.exec(stdout)?.[1] ?? ''
    expect((await cli(['help', name])).stdout).toContain(`SECTIONS\n  ${name}\n`)
    for (const section of (await readSections()).filter((_, i) => i % 25 === 0)) {
      const [first] = await searchHelp([sectionName(section)])
      expect(first && sectionName(first)).toBe(sectionName(section))
    }
  })

  test.each([
    ['cookbook-operations.md#move-to-another-machine', 'cookbook-operations.md'],
    ['first-drop.md#mint-interrupt-and-resume', 'first-drop.md#create-a-collection'],
    ['wallets.md#export-a-key', 'wallets.md'],
  ])('names the section whose commands %s needs', async (path, setup) => {
    const { stdout } = await cli(['help', path], { columns: 200 })
    expect(stdout).toContain(`\nFirst run the commands of an earlier section: gdn help ${setup}\n`)
    const [section] = await searchHelp([setup])
    expect(section).toMatchObject({ markdown: expect.stringContaining('```sh') })
    expect(`${section?.page}${section?.anchor && `#${section.anchor}`}`).toBe(setup)
  })

  test.each([
    'cookbook-operations.md', // the beginning of its page
    'troubleshooting.md#the-server-returns-429', // without commands
    'manifest.md#examples', // first commands of its page
    'gdn nft mint', // in the reference of commands
  ])('names no earlier section for %s', async (path) => {
    expect((await cli(['help', ...path.split(' ')], { columns: 200 })).stdout).not.toContain('earlier section')
  })

  test.each([40, 80, 120])('fits into %i columns', async (columns) => {
    for (const words of [
      'stuck nonce',
      'limit cost',
      'usage',
      'gdn nft mint flags',
      'backend.yaml',
      'glossary terms',
    ]) {
      const { stdout } = await cli(['help', ...words.split(' ')], { columns })
      // Lines of files are never wrapped, so that they can be copied, and a path is one word.
      const mayBeWide = (line: string) => /^ {4}/.test(line) || /^ {2,}\S+$/.test(line) || line.includes('/docs/')
      expect(stdout.split('\n').filter((line) => displayWidth(line) > columns && !mayBeWide(line))).toEqual([])
    }
  })

  test('shows comments without a prompt, and files that a block writes as they are', async () => {
    const { stdout } = await cli(['help', 'gdn', 'tx', 'cancel'])
    expect(stdout).toContain('\n  # Cancel the transaction\n  $ gdn tx cancel 0197')
    expect((await cli(['help', 'mint', 'unrevealed'])).stdout).toMatch(/^ {4}cat > drop\.csv <<'CSV'\n {4}id,title,/m)
  })

  test('escapes what could control a terminal', async () => {
    const docs = await folderWith({ 'zebra.md': '# Zebra \u001b[2J\n\n\u001b]52;c;aGk=\u0007 stripes \u202e\n' })
    const text = searchText(await searchHelp(['zebra'], docs), 80, (heading) => heading)
    expect(text).toContain('stripes')
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  })

  test('prints sections as JSON', async () => {
    const { query, sections } = JSON.parse((await cli(['help', 'stuck', 'nonce', '--json'])).stdout)
    expect(query).toBe('stuck nonce')
    expect(sections).toHaveLength(3)
    expect(sections[0]).toMatchObject({
      page: 'Troubleshooting',
      heading: 'A transaction is stuck, or a nonce is missing',
      path: 'docs/troubleshooting.md#a-transaction-is-stuck-or-a-nonce-is-missing',
      url: null,
      excerpt: expect.stringContaining('nonces'),
    })
    expect(sections[0].blocks[0].text).toContain('EVM networks')
  })

  test('fails if nothing matches, and lists the topics', async () => {
    const { code, stdout, stderr } = await cli(['help', 'xyzzyx', 'the'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('error: no help found for "xyzzyx the"\n')
    expect(stderr).toContain(`The help topics are ${HELP_TOPICS.map(({ name }) => name).join(', ')}.`)
  })

  test('asks whether a single word was meant as a command or topic, even if sections match', async () => {
    expect((await cli(['help', 'wallets'])).stderr).toBe('Did you mean gdn help wallet?\n')
    expect(await cli(['help', 'exit-code'])).toMatchObject({ code: 0, stderr: 'Did you mean gdn help exit-codes?\n' })
    expect((await cli(['help', 'docker'])).stderr).toBe('')
    expect((await cli(['help', 'enviroment'])).stderr).toMatch(
      /no help found.*\n {2}Did you mean gdn help environment\?/,
    )
  })

  test('keeps the help of commands and topics', async () => {
    for (const words of [['nft', 'mint'], ['plan'], ['local'], ['exit', 'codes']]) {
      expect((await cli(['help', ...words])).stdout).not.toContain('SECTIONS')
    }
    expect((await cli(['help', 'configuration'])).stdout).toBe((await cli(['help', 'environment'])).stdout)
    expect((await cli(['help', 'nft', 'stays', 'pending'])).stdout).toContain('Troubleshooting › An NFT stays pending')
    expect((await cli(['help', 'plan', 'pull', 'request'])).stdout).toContain('› Plan in a pull request')
  })

  test('takes less than 300 ms of a processor to search', async () => {
    const before = process.cpuUsage()
    await searchHelp(['stuck', 'nonce'])
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(300)
  })
})

test('the pages for symptoms, errors and terms have at most 160 lines', async () => {
  for (const page of ['troubleshooting', 'errors', 'glossary']) {
    const text = await readFile(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8')
    expect(text.trimEnd().split('\n').length, page).toBeLessThanOrEqual(160)
  }
})
