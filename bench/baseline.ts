import { readFileSync } from 'node:fs'
import type { Abi, Hex } from 'viem'
import { compileSolidity } from '../src/build/contracts.mjs'

export interface Baseline {
  abi: Abi
  bytecode: Hex
}

const compiled = new Map<string, Baseline>()

/** Compiles a contract of `bench/contracts`, once. */
export function compileBaseline(name: 'Baseline' | 'BaselineERC721A'): Baseline {
  const known = compiled.get(name)
  if (known !== undefined) return known
  const file = `${name}.sol`
  const contract = compileSolidity({ [file]: readFileSync(`bench/contracts/${file}`, 'utf8') })[name]
  if (contract === undefined) throw new Error(`the contract ${name} is missing`)
  const baseline = { abi: contract.abi as Abi, bytecode: contract.bytecode }
  compiled.set(name, baseline)
  return baseline
}
