// The sidebar of the site. Each page of docs/ is in one group.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { docsPages } from '../../src/build/llms.mjs'
import { root } from '../../src/build/paths.mjs'

/** By group: the labels of pages, and their names in docs/. */
const GROUPS = {
  Start: [
    ['Install', 'install'],
    ['Your first drop', 'first-drop'],
    ['At most once', 'at-most-once'],
  ],
  Guides: [
    ['Cookbook', 'cookbook'],
    ['Cookbook: people', 'cookbook-people'],
    ['Cookbook: operations', 'cookbook-operations'],
    ['Drops', 'drops'],
    ['Airdrops', 'airdrops'],
    ['Plan and apply', 'plan-and-apply'],
    ['Reveal', 'reveal'],
    ['Shuffle', 'shuffle'],
    ['Collections', 'collections'],
    ['Art from layers', 'art'],
    ['Marketplaces', 'marketplaces'],
    ['Archives', 'archives'],
    ['Wallets', 'wallets'],
    ['Contacts', 'contacts'],
    ['Names', 'names'],
    ['CI', 'ci'],
    ['TypeScript', 'client'],
    ['From a script', 'from-a-script'],
    ['Coding agents', 'agents'],
    ['Fault injection', 'fault-injection'],
  ],
  Reference: [
    ['Commands', 'commands/README'],
    ['Manifest', 'manifest'],
    ['Blockchains', 'blockchains'],
    ['Configuration', 'configuration'],
    ['Output', 'output'],
    ['Troubleshooting', 'troubleshooting'],
    ['Errors', 'errors'],
    ['Exit codes', 'exit-codes'],
    ['Glossary', 'glossary'],
    ['API', 'api'],
    ['Webhook events', 'webhooks-reference'],
  ],
  Operate: [
    ['Local backend', 'local-backend'],
    ['Public networks', 'public-networks'],
    ['PostgreSQL', 'postgresql'],
    ['Storage', 'storage'],
    ['Webhooks', 'webhooks'],
    ['Hosted or own', 'hosted-and-own'],
    ['Security', 'security'],
  ],
  Project: [
    ['Architecture', 'architecture'],
    ['Benchmarks', 'benchmarks'],
    ['Releases', 'releasing'],
  ],
}

/** A link of the index of commands to the page of a noun. */
const NOUN = /^- \[(gdn [\w-]+)\]\(([\w-]+)\.md\)/gm

/** Returns the sidebar in VitePress's form. Rejects if a page is in no group. */
export async function sidebar() {
  const index = await readFile(join(root, 'docs/commands/README.md'), 'utf8')
  const nouns = [...index.matchAll(NOUN)].map(([, text, name]) => ({ text, link: `/commands/${name}` }))
  const listed = new Set(Object.values(GROUPS).flatMap((pages) => pages.map(([, name]) => `${name}.md`)))
  const unlisted = (await docsPages()).filter((name) => !listed.has(name) && !name.startsWith('commands/'))
  if (unlisted.length > 0) throw new Error(`docs/site/sidebar.mjs: no group has the page ${unlisted.join(', ')}`)
  return Object.entries(GROUPS).map(([text, pages]) => ({
    text,
    items: pages.map(([label, name]) =>
      name === 'commands/README'
        ? { text: label, link: '/commands/', collapsed: true, items: nouns }
        : { text: label, link: `/${name}` },
    ),
  }))
}
