export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path class="logo-side" d="M16 2 28 9v14l-12 7L4 23V9z" />
      <path class="logo-right" d="m16 16 12-7v14l-12 7z" />
      <path class="logo-top" d="M16 2 28 9l-12 7L4 9z" />
    </svg>
  );
}
