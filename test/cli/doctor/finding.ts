export interface Finding {
  check: string
  status: string
  message: string
  fix: string | null
}
