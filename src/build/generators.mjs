import { generateExamples } from '../../examples/generate.mjs'
import { generateCompletions } from './completions.mjs'

/**
 * What is committed although a program made it: `generate(dir)` writes the files under `paths` into `dir` as they
 * should be in the repository.
 */
export const generators = [
  {
    name: 'examples',
    paths: ['examples/media', 'examples/drop.csv', 'examples/drop.json', 'examples/drop.jsonl'],
    generate: generateExamples,
    command: 'node examples/generate.mjs',
  },
  {
    name: 'completions',
    paths: ['completions'],
    generate: generateCompletions,
    command: 'node src/build/completions.mjs',
  },
]
