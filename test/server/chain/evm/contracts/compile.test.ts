import { describe, expect, test } from 'vitest'
import { compileContracts, compileSolidity, inputHash, readSources } from '../../../../../src/build/contracts.mjs'

const HEADER = '// SPDX-License-Identifier: MIT\npragma solidity ^0.8.26;\n'

describe('compiling', () => {
  test('is skipped where the sources, the compiler and the libraries are the same', () => {
    compileContracts()
    expect(compileContracts()).toBe(false)
  })

  test('depends on every byte of the sources', () => {
    const sources = readSources('src/server/chain/evm/contracts')
    expect(Object.keys(sources)).toContain('GdnCollection.sol')
    expect(inputHash(sources)).toBe(inputHash({ ...sources }))
    expect(inputHash({ ...sources, 'GdnCollection.sol': `${sources['GdnCollection.sol']} ` })).not.toBe(
      inputHash(sources),
    )
  })

  test('fails with the compiler’s message', () => {
    expect(() => compileSolidity({ 'Bad.sol': `${HEADER}contract Bad { uint256 x = "text"; }` })).toThrow(
      /Bad\.sol:3:\d+/,
    )
  })

  test('takes a warning in our own sources for an error', () => {
    const source = `${HEADER}contract Sloppy { function f() external pure { uint256 unused; } }`
    expect(() => compileSolidity({ 'Sloppy.sol': source })).toThrow('Unused local variable')
  })

  test('names an import that is not there', () => {
    const source = `${HEADER}import "@openzeppelin/contracts/Nothing.sol";\n`
    expect(() => compileSolidity({ 'Lost.sol': source })).toThrow('@openzeppelin/contracts/Nothing.sol')
  })
})
