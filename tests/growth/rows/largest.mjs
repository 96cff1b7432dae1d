export const largest = async () => [];
