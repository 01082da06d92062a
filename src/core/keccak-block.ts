const LANES = 25
const ROUNDS = 24
const LANE_BYTES = 8
const STATE_BYTES = LANES * LANE_BYTES
const RATE = 136

/** Keccak-256 of up to 135 bytes that stand in `input`; what it gives is there until it is called again. */
export interface KeccakBlock {
  readonly input: Uint8Array
  /** The first 32 bytes are the hash. */
  hash(length: number): Uint8Array
}

/** What is used of WebAssembly, whose types come with those of browsers only. */
interface Runtime {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => { exports: { memory: { buffer: ArrayBuffer }; permute(): void } }
}

/**
 * Keccak-256 of short messages in WebAssembly, whose 64-bit words make it ten times as fast as JavaScript: for checking
 * a million addresses. The code is put together here, so that the package carries none that nobody can read.
 *
 * @returns null where the runtime has no WebAssembly
 */
export function createKeccakBlock(): KeccakBlock | null {
  const { WebAssembly } = globalThis as { WebAssembly?: Runtime }
  if (WebAssembly === undefined) return null
  const { memory, permute } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes())).exports
  const state = new Uint8Array(memory.buffer, 0, STATE_BYTES)
  const constants = new DataView(memory.buffer, STATE_BYTES)
  for (const [round, constant] of roundConstants().entries()) constants.setBigUint64(round * LANE_BYTES, constant, true)
  return {
    input: state.subarray(0, RATE - 1),
    hash(length) {
      state.fill(0, length)
      state[length] = 0x01
      state[RATE - 1] = (state[RATE - 1] ?? 0) | 0x80
      permute()
      return state
    },
  }
}

/** Bits of a linear feedback shift register (FIPS 202, section 3.2.5). */
function roundConstants(): bigint[] {
  let register = 1
  return Array.from({ length: ROUNDS }, () => {
    let constant = 0n
    for (let bit = 0; bit < 7; bit++) {
      if ((register & 1) === 1) constant |= 1n << BigInt(2 ** bit - 1)
      register <<= 1
      if ((register & 0x100) !== 0) register ^= 0x171
    }
    return constant
  })
}

// Instructions of WebAssembly.
const LOOP_VOID = [0x03, 0x40]
const END = 0x0b
const BR_IF = 0x0d
const GET = 0x20
const SET = 0x21
const TEE = 0x22
const I32_CONST = 0x41
const I32_NE = 0x47
const I32_ADD = 0x6a
const I64_LOAD = 0x29
const I64_STORE = 0x37
const I64_CONST = 0x42
const I64_AND = 0x83
const I64_XOR = 0x85
const I64_ROTL = 0x89
const MINUS_ONE = 0x7f
const ALIGN_8 = 3
const I32 = 0x7f
const I64 = 0x7e

// Locals: the place of the round's constant, the 25 lanes, and some for what is only held for a while.
const PLACE = 0
const lane = (index: number): number => 1 + index
const held = (index: number): number => 1 + LANES + index
const HELD = 11

function number(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest]
    bytes.push((rest & 0x7f) | 0x80)
  }
}

/** As `number`, but the seventh bit of the last byte is the sign. */
function signed(value: number): number[] {
  const last = number(value).at(-1) ?? 0
  return last < 0x40 ? number(value) : [...number(value).slice(0, -1), last | 0x80, 0]
}

const get = (local: number) => [GET, ...number(local)]
const set = (local: number) => [SET, ...number(local)]
const list = (items: number[][]) => [...number(items.length), ...items.flat()]
const sized = (bytes: number[]) => [...number(bytes.length), ...bytes]
const section = (id: number, bytes: number[]) => [id, ...sized(bytes)]
const name = (text: string) => sized([...Buffer.from(text)])
const rotated = (bits: number) => [I64_CONST, ...signed(bits), I64_ROTL]

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const constantsEnd = STATE_BYTES + ROUNDS * LANE_BYTES
  const all = Array.from({ length: LANES }, (_, index) => index)
  const code = [
    ...all.flatMap((index) => [I32_CONST, 0, I64_LOAD, ALIGN_8, ...number(index * LANE_BYTES), ...set(lane(index))]),
    ...[I32_CONST, ...signed(STATE_BYTES), ...set(PLACE)],
    ...LOOP_VOID,
    ...round(),
    ...[
      ...get(PLACE),
      I32_CONST,
      LANE_BYTES,
      I32_ADD,
      TEE,
      PLACE,
      I32_CONST,
      ...signed(constantsEnd),
      I32_NE,
      BR_IF,
      0,
    ],
    END,
    ...all.flatMap((index) => [I32_CONST, 0, ...get(lane(index)), I64_STORE, ALIGN_8, ...number(index * LANE_BYTES)]),
    END,
  ]
  const locals = list([
    [1, I32],
    [...number(LANES + HELD), I64],
  ])
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([[0x60, 0, 0]])),
    ...section(3, list([[0]])),
    ...section(5, list([[0, 1]])),
    ...section(
      7,
      list([
        [...name('memory'), 2, 0],
        [...name('permute'), 0, 0],
      ]),
    ),
    ...section(10, list([sized([...locals, ...code])])),
  ])
}

/** One round (FIPS 202, section 3.3): the steps θ, ρ with π, χ, ι. */
function round(): number[] {
  const code: number[] = []
  const columns = [0, 1, 2, 3, 4]
  for (const x of columns) {
    code.push(...get(lane(x)))
    for (const y of [5, 10, 15, 20]) code.push(...get(lane(x + y)), I64_XOR)
    code.push(...set(held(x)))
  }
  for (const x of columns) {
    code.push(...get(held((x + 4) % 5)), ...get(held((x + 1) % 5)), ...rotated(1), I64_XOR, ...set(held(10)))
    for (const y of [0, 5, 10, 15, 20]) {
      code.push(...get(lane(x + y)), ...get(held(10)), I64_XOR, ...set(lane(x + y)))
    }
  }
  code.push(...get(lane(1)), ...set(held(5)))
  let [x, y] = [1, 0]
  for (let step = 0; step < LANES - 1; step++) {
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
    const to = lane(x + 5 * y)
    code.push(...get(to), ...set(held(6)))
    code.push(...get(held(5)), ...rotated((((step + 1) * (step + 2)) / 2) % 64), ...set(to))
    code.push(...get(held(6)), ...set(held(5)))
  }
  for (const row of [0, 5, 10, 15, 20]) {
    for (const x of columns) code.push(...get(lane(row + x)), ...set(held(x)))
    for (const x of columns) {
      code.push(...get(held(x)), ...get(held((x + 1) % 5)), I64_CONST, MINUS_ONE, I64_XOR)
      code.push(...get(held((x + 2) % 5)), I64_AND, I64_XOR, ...set(lane(row + x)))
    }
  }
  code.push(...get(lane(0)), ...get(PLACE), I64_LOAD, ALIGN_8, 0, I64_XOR, ...set(lane(0)))
  return code
}
