import type { PageSection } from './sections.ts'

/**
 * Returns the section whose commands must run before those of a section. This is an earlier section of the page that
 * sets a variable which the section uses but doesn't set. Otherwise, it is the beginning of the page if that contains
 * commands.
 */
export function findSetupSection(sections: readonly PageSection[], section: PageSection): PageSection | undefined {
  const commands = extractCommands(section)
  if (commands === '') return undefined
  const page = sections.filter((candidate) => candidate.page === section.page)
  const earlier = page
    .slice(0, page.indexOf(section))
    .map((candidate) => ({ candidate, sets: findSetVariables(extractCommands(candidate)) }))
  const ownVariables = findSetVariables(commands)
  const needed = [...commands.matchAll(/\$\{?([A-Z_]+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !ownVariables.has(name))
  const setting = earlier.find(({ sets }) => needed.some((name) => sets.has(name)))
  return (setting ?? earlier.find(({ candidate }) => candidate.anchor === '' && extractCommands(candidate) !== ''))
    ?.candidate
}

const extractCommands = ({ markdown }: PageSection): string =>
  [...markdown.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, commands = '']) => commands).join('')

const findSetVariables = (commands: string): Set<string> =>
  new Set([...commands.matchAll(/(?<![\w$-])([A-Z_]+)=/g)].map(([, name = '']) => name))
