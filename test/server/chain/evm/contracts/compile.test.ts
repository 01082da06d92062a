/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { compileContracts, compileSolidity, inputHash, readSources } from '../../../../../src/build/contracts.mjs'

const HEADER = '// SPDX-License-Identifier: MIT\npragma solidity ^0.8.26;\n'

describe('compiling', () => {
  test('is skipped if sources, compiler and libraries are unchanged', () => {
    compileContracts()
    expect(compileContracts()).toBe(false)
  })

  test('is repeated if any byte of the sources changes', () => {
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

  test('treats a warning in our own sources as an error', () => {
    const source = `${HEADER}contract Sloppy { function f() external pure { uint256 unused; } }`
    expect(() => compileSolidity({ 'Sloppy.sol': source })).toThrow('Unused local variable')
  })

  test('names a missing import', () => {
    const source = `${HEADER}import "@openzeppelin/contracts/Nothing.sol";\n`
    expect(() => compileSolidity({ 'Lost.sol': source })).toThrow('@openzeppelin/contracts/Nothing.sol')
  })
})
