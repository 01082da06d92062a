export interface Run {
  x: number
  text: string
  /** `#rrggbb`, the number of one of the sixteen terminal colors, or null for the default color. */
  fg: string | number | null
  bg: string | number | null
  bold: boolean
  dim: boolean
}

export interface Frame {
  lines: readonly (readonly Run[])[]
  ms: number
}

export function animation(frames: readonly Frame[], screen: { columns: number; rows: number; title: string }): string
