export interface CompiledContract {
  abi: readonly unknown[]
  bytecode: `0x${string}`
  /** The deployed code, with zeros in place of the values that the constructor sets. */
  deployed: { code: `0x${string}`; immutables: [start: number, length: number][] }
}

export interface StandardInput {
  language: string
  sources: Record<string, { content: string }>
  settings: object
}

export interface CompilerOutput {
  contracts: Record<string, Record<string, { metadata?: string }>>
}

export function compileContracts(): boolean
export function compileSolidity(sources: Record<string, string>, folder?: string): Record<string, CompiledContract>
export function standardInput(sources: Record<string, string>, folder?: string): StandardInput
export function compile(input: StandardInput): CompilerOutput
export function contractsIn(output: CompilerOutput, files: readonly string[]): Record<string, CompiledContract>
export function readSources(folder: string): Record<string, string>
export function inputHash(sources: Record<string, string>): string
