export interface Generator {
  name: string
  paths: readonly string[]
  command: string
  generate(dir: string): Promise<void>
}

export function findDrift(root: string, generator: Generator): Promise<string>
