export interface CompiledContract {
  abi: readonly unknown[]
  bytecode: `0x${string}`
}

export function compileContracts(): boolean
export function compileSolidity(sources: Record<string, string>, folder?: string): Record<string, CompiledContract>
export function readSources(folder: string): Record<string, string>
export function inputHash(sources: Record<string, string>): string
