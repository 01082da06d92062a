import { createHash } from 'node:crypto'

// What completions know of the command tree, in the few words that all shells can read:
//
//   a flag     --output -o =output table, json, …     name, short form (or -), what it takes, summary
//   a value    polygon                                value, a space, and what it is
//
// What a flag or an argument takes is one word: `-` nothing, `text` what nobody can guess, `file`, `dir`, `pairfile`
// (`key=path`), `command`, `=name` one of a few words, `,name` several of them, `@kind` what `gdn __complete kind`
// finds on this machine. `~` in place of the short form marks another name of a flag, which is known and not offered;
// `+` at the end of what is taken: it may be given again.

const DYNAMIC = {
  profile: '@profiles',
  run: '@runs',
  run_name: '@run-names',
  collection: '@collections',
  address: '@wallets',
}
const PLAIN = { boolean: '-', file: 'file', directory: 'dir', command: 'command' }

/** Flags that may stand before the command. */
const LEADING = ['--profile', '--base-url', '--state-dir', '--output', '--fields']

export function completionTables(tree) {
  const values = new Map()
  const bundles = new Map()
  const takes = taker(values)
  const commands = tree.commands.map(({ name, flags, arguments: args }) => ({
    name,
    bundles: bundlesOf(flags, takes, bundles),
    takes: args.map((arg) => `${takes(arg, arg.name)}${arg.variadic ? '+' : ''}`).join(' '),
  }))
  const leading = tree.commands
    .flatMap(({ flags }) => flags)
    .filter(({ name }, i, all) => LEADING.includes(name) && all.findIndex((flag) => flag.name === name) === i)
  const ofAll = tree.flags.map((flag) => flagLine(flag, takes))
  bundles.set('gdn', [...ofAll, ...leading.flatMap((flag) => flagLine(flag, takes))].join('\n'))
  bundles.set('help', [...ofAll, '--json - - The command tree as JSON'].join('\n'))
  return { words: wordsOf(tree), commands, bundles, values }
}

/** What may stand first, after each noun, and after help. */
function wordsOf({ groups, commands, topics }) {
  const entries = groups.flatMap((group) => group.entries)
  const first = entries.map(({ name, summary }) => `${name} ${summary}`)
  const words = new Map([['', [...first, 'help Help for commands, and help topics'].join('\n')]])
  for (const { name } of entries.filter((entry) => !entry.is_command)) {
    const verbs = commands.filter((command) => command.name.startsWith(`${name} `))
    words.set(name, verbs.map((verb) => `${verb.name.slice(name.length + 1)} ${verb.summary}`).join('\n'))
  }
  const pages = topics.filter(({ name }) => !entries.some((entry) => entry.name === name))
  words.set('help', [...pages.map(({ name, summary }) => `${name} ${summary}`), ...first].join('\n'))
  return words
}

/** Lists of words get the name of the flag that takes them; equal ones are one list. */
function taker(values) {
  return ({ type, values: words, placeholder }, name) => {
    if (type === 'pair') return placeholder.includes('path') ? 'pairfile' : 'text'
    if (type !== 'word' && type !== 'words') return DYNAMIC[type] ?? PLAIN[type] ?? 'text'
    const text = words.join('\n')
    const base = name.replace(/^--/, '')
    let id = [...values].find(([, known]) => known === text)?.[0]
    for (let n = 1; id === undefined; n++) {
      const free = n === 1 ? base : `${base}-${n}`
      if (!values.has(free)) id = free
    }
    values.set(id, text)
    return `${type === 'word' ? '=' : ','}${id}`
  }
}

function flagLine(flag, takes) {
  const kind = `${takes(flag, flag.name)}${flag.repeatable ? '+' : ''}`
  const summary = flag.summary.replaceAll(/\s+/g, ' ')
  const others = flag.aliases.map((alias) => `${alias} ~ ${kind} ${summary}`)
  return [`${flag.name} ${flag.short ?? '-'} ${kind} ${summary}`, ...others]
}

/** The flags of a command by the groups of its help: most groups are the same in many commands, and are said once. */
function bundlesOf(flags, takes, bundles) {
  const groups = new Map()
  for (const flag of flags) groups.set(flag.group, [...(groups.get(flag.group) ?? []), ...flagLine(flag, takes)])
  return [...groups].map(([group, lines]) => {
    const text = lines.join('\n')
    // By its content, not by its place: a new command leaves the names of all others as they are.
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 6)
    const id = `${group.toLowerCase().replaceAll(/[^a-z]+/g, '-')}-${digest}`
    bundles.set(id, text)
    return id
  })
}
