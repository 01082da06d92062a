import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import * as z from 'zod'
import { cli } from '../cli/harness.ts'

export const FOLDER = fileURLToPath(new URL('../../examples/deploy', import.meta.url))

export const readDeployFile = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')

/** Every file of the folder, relative to it. */
export async function filesInFolder(): Promise<string[]> {
  const entries = await readdir(FOLDER, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(FOLDER.length + 1))
}

const service = z.looseObject({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  secrets: z.array(z.string()).optional(),
  ports: z.array(z.string()).optional(),
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  stop_grace_period: z.string().optional(),
  deploy: z.looseObject({ replicas: z.int().optional() }).optional(),
  depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).optional(),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
})

const compose = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  networks: z.looseObject({
    default: z.object({ ipam: z.object({ config: z.array(z.object({ subnet: z.string() })) }) }),
  }),
})

/** The compose file, with its anchors merged as in Compose. */
export const composeFile = () => compose.parse(parse(readDeployFile('compose.yaml'), { merge: true }))

/** `--drain=10s` and `--drain 10s` as pairs. */
export function flagsIn(words: readonly string[]): [flag: string, value: string][] {
  return words.flatMap((word, index) => {
    if (!word.startsWith('--')) return []
    const [flag = '', value] = word.split(/=(.*)/s)
    return [[flag, value ?? words[index + 1] ?? '']]
  })
}

const tree = z.object({
  commands: z.array(z.object({ name: z.string(), flags: z.array(z.object({ name: z.string() })) })),
})

/** The commands of gdn, with the flags of each. */
export async function flagsOfCommands(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { commands } = tree.parse(JSON.parse((await cli(['help', '--json'])).stdout))
  return new Map(commands.map(({ name, flags }) => [name, new Set(flags.map((flag) => flag.name))]))
}
